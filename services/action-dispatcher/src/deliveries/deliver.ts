import type { DeliveryMetrics } from '../delivery-metrics.ts';
import type { ClaimedDelivery } from './claimed-delivery.ts';
import { type Carried, type Ending, type Execution, executionOf } from './execution.ts';
import type { ResultRecorder } from './result-recorder.ts';

interface DeliverDependencies {
  /** Carries out a delivery. What can be wrong with it is part of the result and no error. */
  readonly carryOut: (delivery: ClaimedDelivery) => Promise<Carried>;
  readonly results: Pick<ResultRecorder, 'record'>;
  readonly metrics: Pick<DeliveryMetrics, 'ended' | 'delivered'>;
  readonly now: () => number;
  /** Uniform in [0, 1); spreads retries. */
  readonly random: () => number;
}

/** Gave the delivery its lease and its slot. */
export interface DeliveryHolder {
  /** Frees the slot. Returns the deliveries that are not to be started, because they wait for the same destination. */
  leaveSlot(delivery: ClaimedDelivery, ending: Ending | undefined, durationMs: number): readonly ClaimedDelivery[];
  giveBackLeases(deliveries: readonly ClaimedDelivery[]): void;
  /** Gives back the leases of deliveries, and makes them due again without an attempt. */
  sendBack(deliveries: readonly ClaimedDelivery[]): Promise<void>;
}

export type Deliver = (delivery: ClaimedDelivery, holder: DeliveryHolder) => Promise<void>;

/**
 * The way of a delivery that a worker claimed and gave a slot: it is carried out, leaves its slot, and its result is
 * recorded. After an error its lease expires, and the delivery is retried with the same id.
 */
export function createDeliver(parts: DeliverDependencies): Deliver {
  return async (delivery, holder) => {
    let leased: readonly ClaimedDelivery[] = [delivery];
    try {
      const { execution, sentBack } = await execute(parts, delivery, holder);
      leased = [delivery, ...sentBack];
      await parts.results.record(delivery, execution);
      leased = [delivery];
      // The next claim sees that their destination is gone.
      if (sentBack.length > 0) await holder.sendBack(sentBack);
    } finally {
      holder.giveBackLeases(leased);
    }
  };
}

interface Executed {
  readonly execution: Execution;
  /** Deliveries that are not started, because they waited for a destination that is gone. */
  readonly sentBack: readonly ClaimedDelivery[];
}

/** Carries out a delivery, and frees its slot whether or not that succeeds. */
async function execute(
  { carryOut, metrics, now, random }: DeliverDependencies,
  delivery: ClaimedDelivery,
  holder: DeliveryHolder,
): Promise<Executed> {
  const startedAt = now();
  let carried: Carried;
  try {
    carried = await carryOut(delivery);
  } catch (error) {
    holder.leaveSlot(delivery, undefined, now() - startedAt);
    throw error;
  }
  const endedAt = now();
  const { actionType, triggeredAt } = delivery;
  const { ending } = carried;
  metrics.ended(actionType, ending.kind === 'given_up' ? 'dropped' : ending.kind, endedAt - startedAt);
  if (ending.kind === 'delivered') metrics.delivered(actionType, endedAt - Date.parse(triggeredAt));
  const sentBack = holder.leaveSlot(delivery, ending, endedAt - startedAt);
  return { execution: executionOf(delivery, carried, endedAt, random), sentBack };
}
