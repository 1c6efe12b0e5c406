import type { Directive } from '@agentlens/contracts';
import type { DirectiveOrder } from '@agentlens/guardrails';

/**
 * State of an agent beyond its directive: the newest trigger that paused it or changed its model. It outlives an
 * unpause, so that a repeated or late trigger does not pause a resumed agent. Trigger ids are ordered by time, so the
 * order of arrival does not matter.
 */
export interface DirectiveState {
  readonly paused: Directive['paused'];
  readonly modelOverride: Directive['modelOverride'];
  readonly pauseTriggerId: string | null;
  readonly modelTriggerId: string | null;
}

export const NEUTRAL: DirectiveState = {
  paused: null,
  modelOverride: null,
  pauseTriggerId: null,
  modelTriggerId: null,
};

/** The next state; null if the order changes nothing because it, or a newer one, was applied before. */
export type Change = (state: DirectiveState, at: string) => DirectiveState | null;

export function pauseBy(order: DirectiveOrder): Change {
  return (state, at) => {
    const { reason, triggerId } = order;
    if (!isNewer(triggerId, state.pauseTriggerId)) return null;
    return { ...state, paused: { at, reason, triggerId }, pauseTriggerId: triggerId };
  };
}

export function overrideModelBy(order: DirectiveOrder & { readonly model: string }): Change {
  return (state, at) => {
    const { model, reason, triggerId } = order;
    if (!isNewer(triggerId, state.modelTriggerId)) return null;
    return { ...state, modelOverride: { model, at, reason, triggerId }, modelTriggerId: triggerId };
  };
}

export function resume({ clearModelOverride }: { readonly clearModelOverride: boolean }): Change {
  return (state) => {
    const clears = clearModelOverride && state.modelOverride !== null;
    if (state.paused === null && !clears) return null;
    return { ...state, paused: null, modelOverride: clearModelOverride ? null : state.modelOverride };
  };
}

function isNewer(triggerId: string, applied: string | null): boolean {
  return applied === null || triggerId > applied;
}
