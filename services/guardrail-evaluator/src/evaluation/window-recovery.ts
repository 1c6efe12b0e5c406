import { agentEvents, type EventBatch } from '@agentlens/contracts';
import type { WindowMarker } from '@agentlens/guardrails';
import { type EventBus, Repeating, readRange } from '@agentlens/messaging';
import type { Clock, Platform } from '@agentlens/platform';
import type { BatchEvaluator } from './batch-evaluator.ts';
import type { WindowGap } from './window-gap.ts';

const LOOK_MS = 1_000;
/** Counting again goes back from now for as long as this; what is older stays missing. */
const RECOUNT_MS = 8_000;
/** Longer than counting again takes: whoever dies at it is relieved. */
const LEASE_MS = 15_000;
const LONGEST_WINDOW_MS = 24 * 60 * 60_000;
/** Little enough that evaluation beside it does not stand still meanwhile. */
const PAGE_MESSAGES = 50;
const PAGE_MS = 5_000;

interface WindowRecoveryDependencies {
  readonly marker: WindowMarker;
  readonly evaluator: Pick<BatchEvaluator, 'recount'>;
  readonly gap: WindowGap;
  readonly bus: Pick<EventBus, 'watch' | 'envelopes'>;
  readonly clock: Clock;
  readonly logger: Platform['logger'];
}

/**
 * Notices that the windows were lost and counts them again from the stream, newest first. Messages are counted under
 * their own ids, so it does not matter which of them the evaluators have counted since, or count meanwhile.
 */
export class WindowRecovery {
  readonly #parts: WindowRecoveryDependencies;
  readonly #looking = new Repeating(() => this.look().then(() => LOOK_MS));
  #stopped = false;

  constructor(parts: WindowRecoveryDependencies) {
    this.#parts = parts;
  }

  /** To be called before anything is counted. */
  async start(): Promise<void> {
    await this.#parts.marker.adopt().catch((error: unknown) => this.#away(error));
    this.#looking.start(LOOK_MS);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#looking.stop();
  }

  /** Never rejects: while the store is away nobody knows, and the next look will tell. */
  async look(): Promise<void> {
    const { marker, gap, clock } = this.#parts;
    try {
      const found = await marker.look(LEASE_MS);
      if (found.kind === 'since') {
        gap.countedSince(found.atMs);
        return;
      }
      gap.countedSince(clock.now());
      if (found.kind === 'lost') await this.#recount(found.turn);
    } catch (error) {
      this.#away(error);
    }
  }

  async #recount(turn: string): Promise<void> {
    const { marker, gap, bus, clock, logger } = this.#parts;
    const startedMs = clock.now();
    const { newest, upTo: oldest } = await bus.envelopes(agentEvents, 0, 1);
    // Before the first event there are no windows, and nothing is lost.
    const level = newest === 0 ? 'debug' : 'warn';
    logger[level]('the windows are lost: counting again what the stream still holds');
    let sinceMs = newest === 0 ? 0 : startedMs;
    let messages = 0;
    for (let upTo = newest; sinceMs > 0 && !this.#stopped && clock.now() - startedMs < RECOUNT_MS; ) {
      const batches = await this.#page(Math.max(0, upTo - PAGE_MESSAGES), upTo);
      await this.#parts.evaluator.recount(batches);
      messages += batches.length;
      upTo -= PAGE_MESSAGES;
      sinceMs = Math.min(sinceMs, ...batches.map(({ receivedAt }) => Date.parse(receivedAt)));
      // Older than any window, or before the first message there is. A page of nothing that can be read is no end.
      if (sinceMs < startedMs - LONGEST_WINDOW_MS || upTo < oldest) sinceMs = 0;
      // Lost once more: what matters most, the newest, has to be counted first again.
      if (!(await marker.holds(turn))) break;
    }
    if (!(await marker.recounted(turn, sinceMs))) {
      logger.warn({ messages }, 'the windows were lost once more while they were counted again: it begins anew');
      return;
    }
    gap.countedSince(sinceMs);
    logger[level]({ messages, sinceMs, tookMs: clock.now() - startedMs }, 'the windows are counted again');
  }

  /** Batches after one place in the stream up to another. */
  async #page(after: number, upTo: number): Promise<readonly EventBatch[]> {
    const batches: EventBatch[] = [];
    const range = { after, upTo, withinMs: PAGE_MS };
    await readRange(this.#parts.bus, agentEvents, range, ({ value }) => batches.push(value));
    return batches;
  }

  #away(error: unknown): void {
    this.#parts.logger.debug({ err: error }, 'nobody knows whether the windows are complete');
  }
}
