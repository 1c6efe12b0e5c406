export { AUDIT_SCHEMA } from './audit-envelope.ts';
export { AUDIT_KIND_NAMES, AUDIT_KINDS } from './audit-kinds.ts';
export { type DecisionBody, type DecisionExtras, decisionBody, decisionBodyWithExtras } from './decision-body.ts';
export {
  AcknowledgeBody,
  AgentBody,
  END_STATUSES,
  EndBody,
  EvaluateBody,
  HeartbeatBody,
  StartBody,
  ToolsBody,
  UNKNOWN_AGENT_ID,
} from './requests.ts';
export { agentRegistered, runEnded, runStarted } from './run-moments.ts';
export { RepairedId } from './tolerant.ts';
export { translateHandlebarEvent } from './translate.ts';
