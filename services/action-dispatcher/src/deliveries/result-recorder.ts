import { setTimeout as sleep } from 'node:timers/promises';
import { inHalves, isDataError } from '@agentlens/database';
import { backOff } from '@agentlens/messaging';
import type { ClaimedDelivery } from './claimed-delivery.ts';
import type { DeliveriesRepository } from './deliveries.repository.ts';
import type { Execution } from './execution.ts';
import type { SettledDelivery, SettlementsRepository } from './settlements.repository.ts';

interface ResultDependencies {
  readonly deliveries: Pick<DeliveriesRepository, 'defer'>;
  readonly settlements: Pick<SettlementsRepository, 'settle'>;
  readonly now: () => number;
  /** How long recording is retried, ms. Until the lease expires no other worker can start what was sent. */
  readonly leaseMs: number;
  readonly pause?: (ms: number) => Promise<unknown>;
  /** Called after a commit with the deliveries that it settled; their facts are in the outbox. */
  readonly onSettled: (ended: readonly SettledDelivery[]) => void;
}

interface Result {
  readonly delivery: ClaimedDelivery;
  readonly execution: Execution;
  readonly done: PromiseWithResolvers<void>;
}

type Deferred = Extract<Execution, { kind: 'defer' }>;

/** Gathers results of attempts that end together: a statement for ten costs little more than for one. */
const GATHER_MS = 15;
const MAX_BATCH = 128;
/** Pauses between retries; the last one repeats. */
const RECORD_AGAIN_MS = [100, 500, 2_000];

/** Records results of attempts in batches. */
export class ResultRecorder {
  readonly #dependencies: ResultDependencies;
  #waiting: Result[] = [];
  #writing = false;

  constructor(dependencies: ResultDependencies) {
    this.#dependencies = dependencies;
  }

  /** Resolves when the result is recorded. Rejects if it cannot be, so that the lease expires. */
  record(delivery: ClaimedDelivery, execution: Execution): Promise<void> {
    const done = Promise.withResolvers<void>();
    this.#waiting.push({ delivery, execution, done });
    if (!this.#writing) void this.#write();
    return done.promise;
  }

  async #write(): Promise<void> {
    this.#writing = true;
    while (this.#waiting.length > 0) {
      await sleep(GATHER_MS);
      const batch = this.#waiting.splice(0, MAX_BATCH);
      await Promise.all([this.#settleAll(batch), this.#deferAll(batch)]);
    }
    this.#writing = false;
  }

  async #settleAll(batch: readonly Result[]): Promise<void> {
    const results = new Map<SettledDelivery, Result>();
    for (const result of batch) {
      const { delivery, execution } = result;
      if (execution.kind === 'settle') results.set({ delivery, settlement: execution.settlement }, result);
    }
    if (results.size === 0) return;
    try {
      await inHalves(
        [...results.keys()],
        async (some) => {
          const ended = await this.#again(() => this.#dependencies.settlements.settle(some));
          for (const settled of some) results.get(settled)?.done.resolve();
          if (ended.length > 0) this.#dependencies.onSettled(ended);
          return some.map(() => undefined);
        },
        (settled, error) => results.get(settled)?.done.reject(error),
      );
    } catch (error) {
      for (const { done } of results.values()) done.reject(error);
    }
  }

  /** Groups by destination: these wait for the same breaker. */
  async #deferAll(batch: readonly Result[]): Promise<void> {
    const groups = new Map<string, { readonly execution: Deferred; readonly results: Result[] }>();
    for (const result of batch) {
      const { execution, delivery } = result;
      if (execution.kind !== 'defer') continue;
      const key = `${delivery.tenantId}:${delivery.destination?.id ?? ''}`;
      const group = groups.get(key) ?? { execution, results: [] };
      groups.set(key, { execution, results: [...group.results, result] });
    }
    for (const { execution, results } of groups.values()) {
      const { deliveries, now } = this.#dependencies;
      const { untilMs, reason } = execution;
      const deferred = results.map(({ delivery }) => delivery);
      try {
        await this.#again(() => deliveries.defer(deferred, { now: now(), untilMs, reason }));
        for (const { done } of results) done.resolve();
      } catch (error) {
        for (const { done } of results) done.reject(error);
      }
    }
  }

  /** Retries until the lease has expired, because an unrecorded attempt is sent again. */
  async #again<T>(work: () => Promise<T>): Promise<T> {
    const { leaseMs, pause = sleep } = this.#dependencies;
    for (let attempt = 1, pausedMs = 0; pausedMs < leaseMs; attempt++) {
      try {
        return await work();
      } catch (error) {
        if (isDataError(error)) throw error;
        const restMs = backOff(attempt, RECORD_AGAIN_MS);
        await pause(restMs);
        pausedMs += restMs;
      }
    }
    return work();
  }
}
