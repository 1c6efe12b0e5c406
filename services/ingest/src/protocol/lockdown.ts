import type { Directive } from '@agentlens/contracts';
import { type ControlState, controlStateMessage } from '@agentlens/platform';

/** Told at a run's start and with every heartbeat; the object is always there. */
export interface LockdownAnswer {
  readonly lockdown: {
    readonly active: boolean;
    readonly reason?: string;
    /** Our additions: what holds, and the id to acknowledge. */
    readonly kind?: 'paused' | 'killed';
    readonly lockdownId?: string;
  };
  readonly modelOverride?: NonNullable<Directive['modelOverride']>['model'];
}

export function lockdownAnswer(controlState: ControlState): LockdownAnswer {
  const { kind, because, modelOverride } = controlState;
  const reason = because?.ancestor === undefined ? (because?.reason ?? kind) : controlStateMessage(controlState);
  const lockdown =
    kind === 'none' ? { active: false } : { active: true, reason, kind, ...(because && { lockdownId: because.id }) };
  return { lockdown, ...(modelOverride && { modelOverride: modelOverride.model }) };
}
