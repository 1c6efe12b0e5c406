import type { Directive } from '@agentlens/contracts';
import type { DirectiveOrder } from '@agentlens/guardrails';

/**
 * What is remembered of an agent beyond the directive itself: the newest trigger that ever paused it or changed its
 * model. It outlives an unpause, so that a trigger carried out twice, or late, cannot pause an agent again that somebody
 * has resumed since. Trigger ids are time-ordered, so the order of arrival does not matter.
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

/** The next state, or null where the order changes nothing: it was applied before, or a newer one was. */
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
