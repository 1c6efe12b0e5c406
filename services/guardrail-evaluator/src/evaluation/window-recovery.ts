import { agentEvents, type EventBatch } from '@agentlens/contracts';
import { type Series, spanStart, type WindowMarker } from '@agentlens/guardrails';
import { type EventBus, Repeating, readRange } from '@agentlens/messaging';
import type { Clock, Platform } from '@agentlens/platform';

/**
 * Tracks what is missing from the windows after their store lost them. The gap closes by itself as the windows move on.
 */
export class WindowGap {
  #sinceMs = 0;

  /** Sets the time since which everything is counted; 0 if nothing is missing. */
  countedSince(atMs: number): void {
    this.#sinceMs = atMs;
  }

  get open(): boolean {
    return this.#sinceMs > 0;
  }

  /** Why a rule that reads these series measures too little; null if it does not. */
  reason(series: readonly Series[], nowMs: number): string | null {
    const missingMs = Math.max(0, ...series.map(({ span }) => this.#sinceMs - spanStart(span, nowMs)));
    if (!this.open || missingMs === 0) return null;
    const until = new Date(nowMs + missingMs).toISOString();
    return `window degraded until ${until}: what happened before ${new Date(this.#sinceMs).toISOString()} was lost`;
  }
}

const LOOK_MS = 1_000;
/** Time limit of a recount. It runs from newest to oldest; what it does not reach stays missing. */
const RECOUNT_MS = 8_000;
/** Longer than a recount takes. If the evaluator crashes during it, another one takes over. */
const LEASE_MS = 15_000;
const LONGEST_WINDOW_MS = 24 * 60 * 60_000;
/** Small enough that regular evaluation continues during a recount. */
const PAGE_MESSAGES = 50;
const PAGE_MS = 5_000;

interface WindowRecoveryDependencies {
  readonly marker: WindowMarker;
  readonly evaluator: { recount(batches: readonly EventBatch[]): Promise<void> };
  readonly gap: WindowGap;
  readonly bus: Pick<EventBus, 'watch' | 'envelopes'>;
  readonly clock: Clock;
  readonly logger: Platform['logger'];
}

/**
 * Detects lost windows and recounts them from the stream, newest first. Messages are counted under their own ids, so it
 * does not matter which of them evaluators have counted since or count at the same time.
 */
export class WindowRecovery {
  readonly #parts: WindowRecoveryDependencies;
  readonly #looking = new Repeating(() => this.look().then(() => LOOK_MS));
  #stopped = false;

  constructor(parts: WindowRecoveryDependencies) {
    this.#parts = parts;
  }

  /** Call before anything is counted. */
  async start(): Promise<void> {
    await this.#parts.marker.adopt().catch((error: unknown) => this.#away(error));
    this.#looking.start(LOOK_MS);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#looking.stop();
  }

  /** Never rejects. If the store is unavailable, the next check decides. */
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
    // Before the first event there are no windows to lose.
    const level = newest === 0 ? 'debug' : 'warn';
    logger[level]('windows were lost, recounting from the stream');
    let sinceMs = newest === 0 ? 0 : startedMs;
    let messages = 0;
    for (let upTo = newest; sinceMs > 0 && !this.#stopped && clock.now() - startedMs < RECOUNT_MS; ) {
      const batches = await this.#page(Math.max(0, upTo - PAGE_MESSAGES), upTo);
      await this.#parts.evaluator.recount(batches);
      messages += batches.length;
      upTo -= PAGE_MESSAGES;
      sinceMs = Math.min(sinceMs, ...batches.map(({ receivedAt }) => Date.parse(receivedAt)));
      // Older than any window, or before the first message in the stream. An unreadable page is not the end.
      if (sinceMs < startedMs - LONGEST_WINDOW_MS || upTo < oldest) sinceMs = 0;
      // The windows were lost again: the recount has to start over with the newest messages, which matter most.
      if (!(await marker.holds(turn))) break;
    }
    if (!(await marker.recounted(turn, sinceMs))) {
      logger.warn({ messages }, 'windows were lost again during the recount, starting over');
      return;
    }
    gap.countedSince(sinceMs);
    logger[level]({ messages, sinceMs, tookMs: clock.now() - startedMs }, 'windows recounted');
  }

  /** Reads the batches after one stream sequence up to another. */
  async #page(after: number, upTo: number): Promise<readonly EventBatch[]> {
    const batches: EventBatch[] = [];
    const range = { after, upTo, withinMs: PAGE_MS };
    await readRange(this.#parts.bus, agentEvents, range, ({ value }) => batches.push(value));
    return batches;
  }

  #away(error: unknown): void {
    this.#parts.logger.debug({ err: error }, 'cannot check whether the windows are complete');
  }
}
