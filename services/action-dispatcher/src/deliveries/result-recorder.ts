import { setTimeout as sleep } from 'node:timers/promises';
import { isDataError } from '@agentlens/database';
import { backOff } from '@agentlens/messaging';
import { inHalves } from '../in-halves.ts';
import type { ClaimedDelivery } from './claimed-delivery.ts';
import type { DeliveriesRepository } from './deliveries.repository.ts';
import type { Execution } from './delivery-pipeline.ts';
import type { SettledDelivery, SettlementsRepository } from './settlements.repository.ts';

interface ResultDependencies {
  readonly deliveries: Pick<DeliveriesRepository, 'defer'>;
  readonly settlements: Pick<SettlementsRepository, 'settle'>;
  readonly now: () => number;
  /** Recording is tried this long, ms: while the database is away nobody else can begin what was sent already. */
  readonly leaseMs: number;
  readonly pause?: (ms: number) => Promise<unknown>;
  /** Called after a commit with what came to its end by it; a fact of each is in the outbox. */
  readonly onSettled: (ended: readonly SettledDelivery[]) => void;
}

interface Result {
  readonly delivery: ClaimedDelivery;
  readonly execution: Execution;
  readonly done: PromiseWithResolvers<void>;
}

type Deferred = Extract<Execution, { kind: 'defer' }>;

/** Results of attempts that end together are worth waiting for: a statement for ten costs little more than for one. */
const GATHER_MS = 15;
const MAX_BATCH = 128;
/** Pauses between tries to record results, the last one again and again. */
const RECORD_AGAIN_MS = [100, 500, 2_000];

/** Writes down what came of attempts, many at a time. */
export class ResultRecorder {
  readonly #parts: ResultDependencies;
  #waiting: Result[] = [];
  #writing = false;

  constructor(parts: ResultDependencies) {
    this.#parts = parts;
  }

  /** Resolves when the result is on record; rejects where it could not be put there, so that its lease runs out. */
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
          const ended = await this.#again(() => this.#parts.settlements.settle(some));
          for (const settled of some) results.get(settled)?.done.resolve();
          if (ended.length > 0) this.#parts.onSettled(ended);
          return some.map(() => undefined);
        },
        (settled, error) => results.get(settled)?.done.reject(error),
      );
    } catch (error) {
      for (const { done } of results.values()) done.reject(error);
    }
  }

  /** Those of one destination together: they wait for the same. */
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
      const { deliveries, now } = this.#parts;
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

  /** What was sent should be known as sent, or it is sent again: given up only when its lease has run out. */
  async #again<T>(work: () => Promise<T>): Promise<T> {
    const { leaseMs, pause = sleep } = this.#parts;
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
