import type { AgentEvent, TranslatedEvent } from '@agentlens/contracts';
import { BusUnavailable } from '@agentlens/messaging';
import { type Caller, type Clock, ProblemException } from '@agentlens/platform';
import { type Quota, type QuotaAnswer, StateUnavailable } from '@agentlens/state';
import type { Admission } from './admission/admission.ts';
import type { FairTurns } from './admission/fair-turns.ts';
import { type EventOutcome, outcomeOf, refusals, refusedWhole, taken } from './http/answers.ts';
import type { IngestMetrics } from './ingest-metrics.ts';
import type { Dialect } from './intake/dialect.ts';
import type { Arrival, IdentifiedEvent } from './intake/identity.ts';
import type { EventIntake } from './intake/intake.ts';
import type { EventPublisher } from './publish/event-publisher.ts';

/** RateLimit fields of the IETF draft (draft-ietf-httpapi-ratelimit-headers-10). The unit is events. */
function rateLimitFields(answer: QuotaAnswer): Record<string, string> {
  const seconds = Math.ceil(answer.retryAfterMs / 1000);
  return {
    'ratelimit-policy': `"events";q=${answer.limit};w=1`,
    ratelimit: `"events";r=${answer.remaining};t=${seconds}`,
  };
}

export function tooMany(answer: QuotaAnswer): ProblemException {
  const seconds = Math.max(1, Math.ceil(answer.retryAfterMs / 1000));
  return new ProblemException(429, 'Too Many Requests', {
    hint: `This API key may send ${answer.limit} events per second. Send the same request again in ${seconds} s.`,
    headers: { 'retry-after': String(seconds) },
  });
}

/** The answer if the platform is behind and this tenant is among the loudest. */
export function heldBack(waitMs: number): ProblemException {
  const seconds = Math.max(1, Math.ceil(waitMs / 1000));
  return new ProblemException(429, 'The platform is behind, and you are sending the most', {
    hint: `Send the same request again in ${seconds} s, or less at a time.`,
    headers: { 'retry-after': String(seconds) },
  });
}

/**
 * Created once: under overload it is used hundreds of times a second, and a stack trace would be a quarter of its cost.
 */
const LINE_IS_FULL = heldBack(1_000);

/** The sender of the events. */
type Sender = Pick<Caller, 'tenantId' | 'agents'>;

/** The events of a request, as a controller hands them over. */
interface Handover {
  /** Cleared once the events are being published, because long-lived objects are expensive to collect. */
  events: readonly unknown[];
  readonly key: string | undefined;
  readonly dialect?: Dialect;
  /** Accept the valid events and answer for each; otherwise one invalid event rejects all. */
  readonly partial: boolean;
}

/** A request whose events are being published. Holds none of them. */
interface UnderWay {
  readonly outcomes: readonly EventOutcome[];
  readonly counts: Counts;
  readonly safe: Promise<void>;
}

interface Counts {
  readonly accepted: number;
  readonly unpriced: number;
  readonly lostByClients: number;
}

interface Reply {
  headers(fields: Record<string, string>): unknown;
}

interface EventIngestorDependencies {
  readonly quota: Quota;
  readonly turns: FairTurns;
  readonly admission: Admission;
  readonly intake: EventIntake;
  readonly publisher: EventPublisher;
  readonly metrics: IngestMetrics;
  readonly clock: Clock;
}

/**
 * The path of a request's events through the gateway, for every route. Each step may reject, with its own metric and
 * answer; later steps do not see rejected events.
 *
 * | Step        | Checks                                             | Rejects with                       | In        |
 * |-------------|----------------------------------------------------|------------------------------------|-----------|
 * | `#quota`    | Has this key sent too much in this second?         | 429, `turned_away{quota}`          | admission |
 * | `#line`     | Is the tenant's queue full?                        | 429, `shed`                        | admission |
 * | `#capacity` | Does the broker keep up?                           | 503, `turned_away{saturated}`      | publish   |
 * | `#pace`     | Is evaluation behind because of this tenant?       | 429, `shed`                        | admission |
 * | `#turn`     | Is it this tenant's turn?                          | waits                              | admission |
 * | `#judge`    | Is each event readable, valid and new?             | 400, 403, 409, 422, `refused`      | intake    |
 * | `#publish`  | Is each event safe on the stream?                  | 503, `turned_away{unavailable}`    | publish   |
 */
export class EventIngestor {
  constructor(private readonly parts: EventIngestorDependencies) {}

  /** The steps before the body is judged. @throws ProblemException */
  async admit(caller: Caller, cost: number, reply: Reply): Promise<void> {
    // The quota of the key comes first, so that a loud client reaches its own limit before that of the platform.
    await this.#quota(caller, cost, reply);
    this.#line(caller.tenantId, cost);
    this.#capacity();
    // Last, because it derives the throughput from what it admitted.
    this.#pace(caller.tenantId, cost);
  }

  /** The remaining steps. Resolves when every accepted event is safe. @throws ProblemException */
  take(sender: Sender, handover: Handover): Promise<readonly EventOutcome[]> {
    return this.#turn(sender.tenantId, handover, async () => {
      try {
        const { outcomes, counts, safe } = await this.#judge(sender, handover);
        await safe;
        this.parts.metrics.accepted(counts.accepted, counts.unpriced);
        this.parts.metrics.lostByClients(counts.lostByClients);
        return outcomes;
      } catch (error) {
        throw this.#awayOr(error);
      }
    });
  }

  /** The number of events is unknown before the body is read, so they are not counted as shed. */
  refuseIfFull(tenantId: string): void {
    this.#line(tenantId, 0);
  }

  async #quota(caller: Caller, cost: number, reply: Reply): Promise<void> {
    const { quota, clock, metrics } = this.parts;
    const answer = await quota.take(caller.keyId, cost, caller.eventsPerSecond, clock.now());
    reply.headers(rateLimitFields(answer));
    if (answer.allowed) return;
    metrics.turnedAway('quota');
    throw tooMany(answer);
  }

  #line(tenantId: string, cost: number): void {
    const { turns, metrics } = this.parts;
    if (!turns.isFull(tenantId)) return;
    metrics.shed(cost);
    throw LINE_IS_FULL;
  }

  #capacity(): void {
    const { publisher, metrics } = this.parts;
    if (!publisher.saturated) return;
    metrics.turnedAway('saturated');
    throw unavailable('The platform takes no more events at the moment', 1_000);
  }

  #pace(tenantId: string, cost: number): void {
    const { admission, metrics } = this.parts;
    const waitMs = admission.admit(tenantId, cost);
    if (waitMs === null) return;
    metrics.shed(cost);
    throw heldBack(waitMs);
  }

  #turn<T>(tenantId: string, { events }: Handover, work: () => Promise<T>): Promise<T> {
    return this.parts.turns.run(tenantId, events.length, work);
  }

  async #judge({ tenantId, agents }: Sender, handover: Handover): Promise<UnderWay> {
    const { intake, clock, metrics } = this.parts;
    const { events, key, dialect, partial } = handover;
    const judged = await intake.judge({ tenantId, agents, events, key, dialect, nowMs: clock.now() });
    if (judged.kind === 'key_reused') throw this.#keyReused();
    const outcomes = judged.verdicts.map(outcomeOf);
    const refused = refusals(outcomes);
    for (const { reason } of refused) metrics.refused(reason);
    if (!partial && refused.length > 0) throw refusedWhole(outcomes);
    const fresh = taken(judged.verdicts).filter(({ repeated }) => !repeated);
    handover.events = [];
    return { outcomes, counts: countsOf(fresh), safe: this.#publish(judged.arrival, fresh) };
  }

  #publish(arrival: Arrival, fresh: readonly IdentifiedEvent[]): Promise<void> {
    return this.parts.publisher.pass(arrival, fresh);
  }

  /** Records one event that the gateway made from a call. Resolves to its id when it is safe. */
  async record(tenantId: string, event: TranslatedEvent): Promise<string> {
    try {
      const { arrival, verdict } = await this.parts.intake.judgeOwn(tenantId, event, this.parts.clock.now());
      if (!verdict.ok) throw new ProblemException(verdict.refusal.status, verdict.refusal.error, verdict.refusal);
      await this.#publish(arrival, [verdict]);
      this.parts.metrics.accepted(1, 0);
      return verdict.event.id;
    } catch (error) {
      throw this.#awayOr(error);
    }
  }

  #keyReused(): ProblemException {
    this.parts.metrics.turnedAway('key_reused');
    return new ProblemException(422, 'Idempotency-Key reused', {
      details: [{ path: 'headers.idempotency-key', message: 'was used before with another body' }],
      hint: 'Send a new batch under a new key; repeat a key only with the very same events.',
    });
  }

  #awayOr(error: unknown): unknown {
    const afterMs = error instanceof BusUnavailable ? error.afterMs : error instanceof StateUnavailable ? 1_000 : null;
    if (afterMs === null) return error;
    this.parts.metrics.turnedAway('unavailable');
    return unavailable('The platform cannot keep events now', afterMs);
  }
}

function countsOf(fresh: readonly IdentifiedEvent[]): Counts {
  let unpriced = 0;
  let lostByClients = 0;
  for (const { event } of fresh) {
    if (event.usage?.costSource === 'unpriced') unpriced += 1;
    lostByClients += lostByClient(event);
  }
  return { accepted: fresh.length, unpriced, lostByClients };
}

/** An SDK reports lost events with a later batch. A repeated report is not counted again. */
function lostByClient({ sourceType, payload }: AgentEvent): number {
  const count = sourceType === 'sink.dropped' ? payload.count : 0;
  return typeof count === 'number' && Number.isSafeInteger(count) && count > 0 ? count : 0;
}

function unavailable(error: string, afterMs: number): ProblemException {
  const seconds = Math.max(1, Math.ceil(afterMs / 1000));
  return new ProblemException(503, error, {
    hint: `Send the same request again in ${seconds} s; with event ids or an Idempotency-Key nothing is counted twice.`,
    headers: { 'retry-after': String(seconds) },
  });
}
