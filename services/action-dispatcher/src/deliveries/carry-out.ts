import type { ChannelSender } from '../channels/channel-sender.ts';
import type { DestinationBreakers } from '../destinations/destinations.ts';
import { type AttemptDependencies, attempt } from './attempt.ts';
import type { ClaimedDelivery } from './claimed-delivery.ts';
import type { Carried, Ending, Unattempted } from './execution.ts';
import { actionFor, type PreparedAction } from './prepared-action.ts';
import { isStale } from './retry-schedule.ts';

export interface CarryOutDependencies extends AttemptDependencies {
  readonly breakers: DestinationBreakers;
  readonly channels: Pick<ChannelSender, 'send'>;
  /** Base of links to the console. */
  readonly publicUrl?: string | undefined;
}

/** Carries out a delivery, unless there is nothing to carry out or its destination takes nothing now. */
export async function carryOut(parts: CarryOutDependencies, delivery: ClaimedDelivery): Promise<Carried> {
  const action = actionFor(delivery, parts.publicUrl, parts.channels);
  if (typeof action === 'string') return { ending: { kind: 'given_up', why: 'impossible', reason: action } };
  const refusal = refusalOf(parts, delivery, action);
  if (refusal !== undefined) return { ending: refusal };
  const attempted = await attempt(parts, delivery, action);
  const health = healthShownBy(attempted.ending);
  if (delivery.destination !== null && health !== undefined) {
    parts.breakers.learn(delivery.destination, health, parts.now());
  }
  return attempted;
}

/** Why no attempt is made now: the destination is disabled or its breaker is open. An admitted delivery is a probe. */
function refusalOf(
  { breakers, now }: Pick<CarryOutDependencies, 'breakers' | 'now'>,
  { disabled, destination, createdAt }: ClaimedDelivery,
  { urgency }: PreparedAction,
): Unattempted | undefined {
  if (disabled !== null) {
    const reason = `the destination is disabled (${disabled}); redeliver to enable it again`;
    return { kind: 'given_up', why: 'disabled', reason };
  }
  const admission = destination === null ? undefined : breakers.admit(destination, now());
  if (admission === undefined || admission.admitted) return undefined;
  if (isStale(urgency, Date.parse(createdAt), now())) {
    return { kind: 'given_up', why: 'waited_too_long', reason: 'the destination was unavailable for too long' };
  }
  const reason = 'the destination is unavailable, waiting for it to recover';
  return { kind: 'deferred', untilMs: admission.retryAtMs, reason };
}

/** Only a response proves that a destination is up; a request that never left says nothing about it. */
function healthShownBy(ending: Ending): 'up' | 'down' | undefined {
  if (ending.kind === 'given_up' || ending.kind === 'deferred') return undefined;
  if (ending.kind === 'retry' && ending.destinationDown) return 'down';
  return ending.httpStatus === undefined ? undefined : 'up';
}
