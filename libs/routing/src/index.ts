export { explainRouting } from './explain.ts';
export {
  dueAfterChange,
  endGroup,
  type FlushStep,
  flushGroup,
  type GroupMember,
  type GroupState,
  type GroupTiming,
  type SendReason,
} from './flush.ts';
export { type Matcher, matchesAll, matchesEverything, parseMatchers, readStoredMatchers } from './matchers.ts';
export { readStoredRouting, type StoredRoutes } from './stored.ts';
export { type ActiveSilence, type FiringAlert, findSuppression, type SuppressionState } from './suppress.ts';
export {
  type EscalationStep,
  findRoutes,
  pickGroup,
  type RouteNode,
  type RoutingTree,
  readRouting,
} from './tree.ts';
export { isInWindow } from './windows.ts';
