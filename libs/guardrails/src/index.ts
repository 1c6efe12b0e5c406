export type { CooldownClaim, CooldownStore } from './ports/cooldown-store.ts';
export type {
  AdvanceAnswer,
  AdvanceRequest,
  Increment,
  Series,
  SeriesShape,
  Span,
  Totals,
  WindowStore,
} from './ports/window-store.ts';
export { binOf, quantileOf } from './windows/sketch.ts';
