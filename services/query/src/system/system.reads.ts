import { CONSUMERS, type DeadLetter, type Topic, tenantOfLetter } from '@agentlens/contracts';
import { type ConsumerLag, type EventBus, NO_LAG } from '@agentlens/messaging';
import {
  type ConsumerLagView,
  DEAD_LETTERS_LIST,
  type DeadLetterFilter,
  type DeadLetterView,
  MAX_LETTER_CONTENT_BYTES,
} from '@agentlens/operations';
import { type Clock, type Platform, ProblemException, port, withDeadline } from '@agentlens/platform';
import { Inject, Injectable } from '@nestjs/common';
import { endOfPage } from '../http/page.ts';

/** Timeout for the broker. A page of large messages needs part of it. */
const DEADLINE_MS = 4_000;

/** Dead letters are ordered by sequence, so their cursors need no time. */
const NO_INSTANT = new Date(0).toISOString();

/** Reads the state of the platform's messages from the broker. */
@Injectable()
export class SystemReads {
  constructor(
    @Inject(port('bus')) private readonly bus: EventBus,
    @Inject(port('clock')) private readonly clock: Clock,
    @Inject(port('logger')) private readonly logger: Platform['logger'],
  ) {}

  /** @throws ProblemException 503 if the broker does not answer */
  async lag() {
    const lags = await this.#answered(
      Promise.all(CONSUMERS.map(({ topic, group }) => this.bus.lag(topic as Topic<unknown>, group))),
    );
    const consumers = CONSUMERS.map(({ topic, group }, i) => lagView(topic.name, group, lags[i]));
    return { measuredAt: new Date(this.clock.now()).toISOString(), consumers };
  }

  /**
   * @param tenantId limits the result to this tenant's messages
   * @throws ProblemException 503 if the broker does not answer
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
      this.logger.warn({ err: error }, 'message broker did not answer');
      throw new ProblemException(503, 'The message broker does not answer', {
        hint: 'The lag of consumers and the dead letters are unknown without it. Check that NATS is running, then try again.',
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

/** Decodes the start of a message. A truncated or invalid character is shown as U+FFFD. */
function contentOf(body: Buffer) {
  return {
    content: body.subarray(0, MAX_LETTER_CONTENT_BYTES).toString('utf8'),
    contentCut: body.byteLength > MAX_LETTER_CONTENT_BYTES,
  };
}
