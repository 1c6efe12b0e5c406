import { CONSUMERS, type DeadLetter, type Topic, tenantOfLetter } from '@agentlens/contracts';
import { type ConsumerLag, type EventBus, NO_LAG } from '@agentlens/messaging';
import {
  type ConsumerLagView,
  DEAD_LETTERS_LIST,
  type DeadLetterFilter,
  type DeadLetterView,
  MAX_LETTER_CONTENT_BYTES,
} from '@agentlens/operations';
import {
  CLOCK,
  type Clock,
  EVENT_BUS,
  LOGGER,
  type Platform,
  ProblemException,
  withDeadline,
} from '@agentlens/platform';
import { Inject, Injectable } from '@nestjs/common';
import { endOfPage } from '../http/page.ts';

/** What the broker is given to answer; a page of large messages needs part of it. */
const DEADLINE_MS = 4_000;

/** Letters stand in the order of their sequence: the instant in their cursors says nothing. */
const NO_INSTANT = new Date(0).toISOString();

/** How the platform's messages fare, by what the broker says. */
@Injectable()
export class SystemReads {
  constructor(
    @Inject(EVENT_BUS) private readonly bus: EventBus,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Platform['logger'],
  ) {}

  /** @throws ProblemException 503 where the broker is silent */
  async lag() {
    const lags = await this.#answered(
      Promise.all(CONSUMERS.map(({ topic, group }) => this.bus.lag(topic as Topic<unknown>, group))),
    );
    const consumers = CONSUMERS.map(({ topic, group }, i) => lagView(topic.name, group, lags[i]));
    return { measuredAt: new Date(this.clock.now()).toISOString(), consumers };
  }

  /**
   * @param tenantId only of its messages; without it, of all
   * @throws ProblemException 503 where the broker is silent
   */
  async deadLetters({ limit: most, cursor, content = false }: DeadLetterFilter, tenantId?: string) {
    const after = cursor === undefined ? 0 : Number(cursor.id);
    const page = await this.#answered(this.bus.deadLetterPage({ tenantId, after, limit: most }));
    const { letters, remaining, upTo } = page;
    return {
      deadLetters: letters.map(({ value }) => letterView(value, content)),
      ...(cursor === undefined ? { total: letters.length + remaining } : {}),
      ...endOfPage(DEAD_LETTERS_LIST, remaining > 0, upTo, (id) => ({ at: NO_INSTANT, id: String(id) })),
    };
  }

  async #answered<T>(work: Promise<T>): Promise<T> {
    try {
      return await withDeadline(work, DEADLINE_MS);
    } catch (error) {
      this.logger.warn({ err: error }, 'the message broker did not answer');
      throw new ProblemException(503, 'The message broker does not answer', {
        hint: 'How far consumers are and what they gave up is not known without it. See that NATS runs, then ask again.',
      });
    }
  }
}

function lagView(topic: string, group: string, lag: ConsumerLag = NO_LAG): ConsumerLagView {
  const { pending, unacknowledged, redelivered, oldestAgeMs } = lag;
  const isOneWaiting = pending + unacknowledged > 0;
  return { group, topic, pending, unacknowledged, redelivered, oldestAgeMs: isOneWaiting ? oldestAgeMs : null };
}

function letterView(letter: DeadLetter, content: boolean): DeadLetterView {
  const { group, topic, subject, messageId, reason, attempts: deliveryCount, failedAt } = letter;
  const body = Buffer.from(letter.body, 'base64');
  return {
    ...{ group, topic, subject, messageId, tenantId: tenantOfLetter(letter) ?? null, reason, deliveryCount, failedAt },
    bytes: body.byteLength,
    ...(content ? contentOf(body) : {}),
  };
}

/** The beginning of a message as text. A character that the cut goes through, or that is none, is shown as U+FFFD. */
function contentOf(body: Buffer) {
  return {
    content: body.subarray(0, MAX_LETTER_CONTENT_BYTES).toString('utf8'),
    contentCut: body.byteLength > MAX_LETTER_CONTENT_BYTES,
  };
}
