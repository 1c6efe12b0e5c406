import type { AgentEvent, TranslatedEvent } from '@agentlens/contracts';
import { BusUnavailable } from '@agentlens/messaging';
import { type Caller, type Clock, type PipelineStage, ProblemException } from '@agentlens/platform';
import { type QuotaAnswer, StateUnavailable } from '@agentlens/state';
import type { FairShare } from './admission/fair-share.ts';
import type { FairTurns } from './admission/fair-turns.ts';
import type { LeasedQuota } from './admission/quotas.ts';
import { type EventOutcome, outcomeOf, refusals, refusedWhole, taken } from './http/answers.ts';
import type { IngestMetrics } from './ingest-metrics.ts';
import type { Dialect } from './intake/dialect.ts';
import type { Arrival, IdentifiedEvent } from './intake/identity.ts';
import type { EventIntake, Intake } from './intake/intake.ts';
import type { EventPublisher } from './publish/event-publisher.ts';

export interface IngestParts {
  readonly quota: Pick<LeasedQuota, 'take'>;
  readonly turns: FairTurns;
  readonly shares: FairShare;
  readonly intake: EventIntake;
  readonly publisher: EventPublisher;
  readonly metrics: IngestMetrics;
  readonly clock: Clock;
}

/** A filter of admission: lets a request pass, or counts the rejection and returns the answer. */
export type AdmissionStage<W> = PipelineStage<W, ProblemException>;

/** A request whose body may not be read yet. */
interface ArrivingRequest {
  readonly caller: Pick<Caller, 'tenantId'>;
  /** Number of events; 0 if it is unknown. */
  readonly cost: number;
}

/** A request that asks for admission. */
export interface AdmissionRequest extends ArrivingRequest {
  readonly caller: Pick<Caller, 'tenantId' | 'keyId' | 'eventsPerSecond'>;
  readonly reply: Reply;
}

export interface Reply {
  headers(fields: Record<string, string>): unknown;
}

/** The events of a request, as a controller hands them over. */
export interface Handover {
  /** Cleared once the events are judged, because long-lived objects are expensive to collect. */
  events: readonly unknown[];
  readonly key: string | undefined;
  readonly dialect?: Dialect;
  /** Accept the valid events and answer for each; otherwise one invalid event rejects all. */
  readonly partial: boolean;
}

/** Up to 1,000 events of an admitted request. */
export interface Batch {
  readonly sender: Pick<Caller, 'tenantId' | 'agents'>;
  readonly handover: Handover;
}

/** Events that are readable, valid and new. Emptied when they are being published. */
export interface JudgedEvents {
  readonly arrival: Arrival;
  fresh: readonly IdentifiedEvent[];
}

/** The events of a batch, and what to answer about each of them. */
export interface JudgedBatch {
  readonly events: JudgedEvents;
  readonly outcomes: readonly EventOutcome[];
}

/** Rejects a key that sent too much in this second. */
export class QuotaStage implements AdmissionStage<AdmissionRequest> {
  constructor(private readonly parts: Pick<IngestParts, 'quota' | 'clock' | 'metrics'>) {}

  run(request: AdmissionRequest): ProblemException | undefined | Promise<ProblemException | undefined> {
    const { caller, cost } = request;
    const answer = this.parts.quota.take(caller.keyId, cost, caller.eventsPerSecond, this.parts.clock.now());
    return answer instanceof Promise ? answer.then((late) => this.#judge(request, late)) : this.#judge(request, answer);
  }

  #judge({ reply }: AdmissionRequest, answer: QuotaAnswer): ProblemException | undefined {
    reply.headers(rateLimitFields(answer));
    if (answer.allowed) return undefined;
    this.parts.metrics.turnedAway('quota');
    return tooMany(answer);
  }
}

/** Rejects a tenant whose queue is full. */
export class QueueStage implements AdmissionStage<ArrivingRequest> {
  constructor(private readonly parts: Pick<IngestParts, 'turns' | 'metrics'>) {}

  run({ caller, cost }: ArrivingRequest): ProblemException | undefined {
    const { turns, metrics } = this.parts;
    if (!turns.isFull(caller.tenantId)) return undefined;
    metrics.shed(cost);
    return QUEUE_IS_FULL;
  }
}

/** Rejects every request while the broker is slower than the clients. */
export class CapacityStage implements AdmissionStage<AdmissionRequest> {
  constructor(private readonly parts: Pick<IngestParts, 'publisher' | 'metrics'>) {}

  run(): ProblemException | undefined {
    const { publisher, metrics } = this.parts;
    if (!publisher.saturated) return undefined;
    metrics.turnedAway('saturated');
    return unavailable('The platform takes no more events at the moment', 1_000);
  }
}

/** Rejects a tenant that sends more than its share while evaluation is behind. */
export class PaceStage implements AdmissionStage<AdmissionRequest> {
  constructor(private readonly parts: Pick<IngestParts, 'shares' | 'clock' | 'metrics'>) {}

  run({ caller, cost }: AdmissionRequest): ProblemException | undefined {
    const { shares, clock, metrics } = this.parts;
    const waitMs = shares.admit(caller.tenantId, cost, clock.now());
    if (waitMs === null) return undefined;
    metrics.shed(cost);
    return heldBack(waitMs);
  }
}

/** Waits for the turn of the tenant, which ends when it is disposed of. */
export async function takeTurn(
  { turns }: Pick<IngestParts, 'turns'>,
  { sender, handover }: Batch,
): Promise<Disposable> {
  const end = await turns.begin(sender.tenantId, handover.events.length);
  return { [Symbol.dispose]: end };
}

/** Finds the events that are readable, valid and new. @throws ProblemException if none of the request is taken */
export async function judge(
  { intake, clock, metrics }: Pick<IngestParts, 'intake' | 'clock' | 'metrics'>,
  { sender, handover }: Batch,
): Promise<JudgedBatch> {
  const { events, key, dialect, partial } = handover;
  const { tenantId, agents } = sender;
  const judging = intake.judge({ tenantId, agents, events, key, dialect, nowMs: clock.now() });
  const judged: Intake = await judging.catch((error: unknown) => throwRefusal(error, metrics));
  if (judged.kind === 'key_reused') {
    metrics.turnedAway('key_reused');
    throw keyReused();
  }
  const outcomes = judged.verdicts.map(outcomeOf);
  const refused = refusals(outcomes);
  for (const { reason } of refused) metrics.refused(reason);
  if (!partial && refused.length > 0) throw refusedWhole(outcomes);
  handover.events = [];
  const fresh = taken(judged.verdicts).filter(({ repeated }) => !repeated);
  return { events: { arrival: judged.arrival, fresh }, outcomes };
}

/** Judges an event that the gateway made itself. @throws ProblemException */
export async function judgeOwn(
  { intake, clock, metrics }: Pick<IngestParts, 'intake' | 'clock' | 'metrics'>,
  tenantId: string,
  event: TranslatedEvent,
): Promise<JudgedEvents> {
  const judging = intake.judgeOwn(tenantId, event, clock.now());
  const { arrival, verdict } = await judging.catch((error: unknown) => throwRefusal(error, metrics));
  if (verdict.ok) return { arrival, fresh: [verdict] };
  throw new ProblemException(verdict.refusal.status, verdict.refusal.error, verdict.refusal);
}

/**
 * Resolves when every event is safe on the stream. Takes the events, so that nothing here holds them meanwhile.
 *
 * @throws ProblemException 503
 */
export async function publish(
  { publisher, metrics }: Pick<IngestParts, 'publisher' | 'metrics'>,
  judged: JudgedEvents,
): Promise<void> {
  const { counts, safe } = begin(publisher, judged);
  await safe.catch((error: unknown) => throwRefusal(error, metrics));
  metrics.accepted(counts.accepted, counts.unpriced);
  metrics.lostByClients(counts.lostByClients);
}

/** Apart from `publish`, whose variables live until the events are safe. */
function begin(
  publisher: EventPublisher,
  judged: JudgedEvents,
): { readonly counts: Counts; readonly safe: Promise<void> } {
  const { arrival, fresh } = judged;
  judged.fresh = [];
  return { counts: countsOf(fresh), safe: publisher.pass(arrival, fresh) };
}

interface Counts {
  readonly accepted: number;
  readonly unpriced: number;
  readonly lostByClients: number;
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

/** RateLimit fields of the IETF draft (draft-ietf-httpapi-ratelimit-headers-10). The unit is events. */
function rateLimitFields(answer: QuotaAnswer): Record<string, string> {
  const seconds = Math.ceil(answer.retryAfterMs / 1000);
  return {
    'ratelimit-policy': `"events";q=${answer.limit};w=1`,
    ratelimit: `"events";r=${answer.remaining};t=${seconds}`,
  };
}

function tooMany(answer: QuotaAnswer): ProblemException {
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
const QUEUE_IS_FULL = heldBack(1_000);

function keyReused(): ProblemException {
  return new ProblemException(422, 'Idempotency-Key reused', {
    details: [{ path: 'headers.idempotency-key', message: 'was used before with another body' }],
    hint: 'Send a new batch under a new key; repeat a key only with the very same events.',
  });
}

/** @throws ProblemException 503 if the broker or the state store is unavailable, and any other error as it is */
function throwRefusal(error: unknown, metrics: IngestMetrics): never {
  const afterMs = error instanceof BusUnavailable ? error.afterMs : error instanceof StateUnavailable ? 1_000 : null;
  if (afterMs === null) throw error;
  metrics.turnedAway('unavailable');
  throw unavailable('The platform cannot keep events now', afterMs);
}

function unavailable(error: string, afterMs: number): ProblemException {
  const seconds = Math.max(1, Math.ceil(afterMs / 1000));
  return new ProblemException(503, error, {
    hint: `Send the same request again in ${seconds} s; with event ids or an Idempotency-Key nothing is counted twice.`,
    headers: { 'retry-after': String(seconds) },
  });
}
