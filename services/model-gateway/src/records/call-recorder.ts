import { agentEvents, type TranslatedEvent, timeOrderedId } from '@agentlens/contracts';
import type { RunRecorder } from '@agentlens/decisions';
import { BackgroundWork, BusUnavailable, type EncodedMessage, type EventBus, observeQueue } from '@agentlens/messaging';
import type { Clock, Platform, PriceBooks } from '@agentlens/platform';
import { type CallEvent, translateCallEvent, writeEventMessage } from './call-events.ts';

/** Records that wait for the broker. At the limit, no new call begins. */
const MAX_WAITING = 10_000;
const RETRY_MS = 500;
/** Maximum time of one record. Longer than any restart of a broker. */
const GIVE_UP_MS = 10 * 60_000;

interface CallRecorderDependencies {
  readonly bus: Pick<EventBus, 'publishEncoded'>;
  readonly prices: Pick<PriceBooks, 'of'>;
  readonly clock: Clock;
  readonly logger: Platform['logger'];
  readonly wait?: (ms: number) => Promise<unknown>;
}

/**
 * Publishes what happened. While the broker is away, records wait in memory and are sent again under the same id, so that
 * each counts once.
 */
export class CallRecorder implements RunRecorder {
  readonly #parts: CallRecorderDependencies;
  readonly #wait: (ms: number) => Promise<unknown>;
  readonly #work = new BackgroundWork();
  #stopped = false;

  constructor(parts: CallRecorderDependencies) {
    this.#parts = parts;
    this.#wait = parts.wait ?? ((ms) => new Promise((resolve) => setTimeout(resolve, ms)));
    observeQueue({ name: 'model_call_records', capacity: MAX_WAITING, size: () => this.#work.size });
  }

  get isFull(): boolean {
    return this.#work.size >= MAX_WAITING;
  }

  /** Resolves when the event is stored, or cannot be. Never rejects. */
  recordCall(event: CallEvent): Promise<void> {
    const { tenantId, runId, id, atMs } = event;
    const { prices, logger } = this.#parts;
    const translated = translateCallEvent(event, prices.of(tenantId));
    const recorded = this.#publish(writeEventMessage(tenantId, id, translated, atMs)).catch((error: unknown) => {
      logger.error({ err: error, tenantId, runId, id }, 'a model call could not be recorded');
    });
    this.#work.add(recorded);
    return recorded;
  }

  /** Stores an event about a decision. @throws BusUnavailable */
  record(tenantId: string, event: TranslatedEvent): Promise<void> {
    const nowMs = this.#parts.clock.now();
    return this.#publish(writeEventMessage(tenantId, timeOrderedId(nowMs), event, nowMs));
  }

  /** Waits for the records in progress; a failed one is not sent again. */
  async drain(): Promise<void> {
    this.#stopped = true;
    await this.#work.ended();
  }

  async #publish(message: EncodedMessage): Promise<void> {
    for (let waitedMs = 0; ; waitedMs += RETRY_MS) {
      try {
        await this.#parts.bus.publishEncoded(agentEvents, message);
        return;
      } catch (error) {
        if (!(error instanceof BusUnavailable) || this.#stopped || waitedMs >= GIVE_UP_MS) throw error;
        await this.#wait(RETRY_MS);
      }
    }
  }
}
