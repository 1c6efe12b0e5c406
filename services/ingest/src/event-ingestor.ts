import type { AgentEvent, TranslatedEvent } from '@agentlens/contracts';
import { BusUnavailable } from '@agentlens/messaging';
import { type Caller, type Clock, ProblemException } from '@agentlens/platform';
import { type Quota, StateUnavailable } from '@agentlens/state';
import type { Admission } from './admission/admission.ts';
import type { FairTurns } from './admission/fair-turns.ts';
import { type EventOutcome, outcomeOf, refusals, refusedWhole, taken } from './answers.ts';
import type { Dialect } from './dialect.ts';
import type { EventGate } from './event-gate.ts';
import type { IdentifiedEvent } from './identity.ts';
import type { IngestMetrics } from './ingest-metrics.ts';
import type { EventIntake } from './intake.ts';
import { heldBack, rateLimitFields, tooMany } from './rate-limit.ts';

/** Made once: in an overload it is said hundreds of times a second, and a stack trace would be a quarter of its cost. */
const LINE_IS_FULL = heldBack(1_000);

/** A request's events, as a controller hands them over. */
export interface Handover {
  /** Empty once they are on their way: what lives as long as that is dear to collect. */
  events: readonly unknown[];
  readonly key: string | undefined;
  readonly dialect?: Dialect;
  /** Take the good ones and answer for each; otherwise one bad event refuses all. */
  readonly partial: boolean;
}

/** A request whose events are on their way. None of them is held here. */
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

/** Where every way in hands over its events: quota, intake, gate, and the same refusals. */
export class EventIngestor {
  constructor(
    private readonly intake: EventIntake,
    private readonly gate: EventGate,
    private readonly metrics: IngestMetrics,
    private readonly quota: Quota,
    private readonly clock: Clock,
    private readonly admission: Admission,
    private readonly turns: FairTurns,
  ) {}

  /** Of a request whose body is still to come it is not known how many events it holds: they are not counted. */
  refuseIfFull(tenantId: string, events = 0): void {
    if (!this.turns.isFull(tenantId)) return;
    this.metrics.shed(events);
    throw LINE_IS_FULL;
  }

  /** This key's quota first, so that one loud client meets its own limit before the platform's. */
  async admit(caller: Caller, cost: number, reply: Reply): Promise<void> {
    const answer = await this.quota.take(caller.keyId, cost, caller.eventsPerSecond, this.clock.now());
    reply.headers(rateLimitFields(answer));
    if (!answer.allowed) {
      this.metrics.turnedAway('quota');
      throw tooMany(answer);
    }
    this.refuseIfFull(caller.tenantId, cost);
    if (this.gate.saturated) {
      this.metrics.turnedAway('saturated');
      throw unavailable('The platform takes no more events just now', 1_000);
    }
    // Last: it learns how much is handled from how much it let in.
    const waitMs = this.admission.admit(caller.tenantId, cost);
    if (waitMs !== null) {
      this.metrics.shed(cost);
      throw heldBack(waitMs);
    }
  }

  /** Resolves when every event that is answered as taken is safe. */
  take(tenantId: string, handover: Handover): Promise<readonly EventOutcome[]> {
    return this.turns.run(tenantId, handover.events.length, () => this.#take(tenantId, handover));
  }

  async #take(tenantId: string, handover: Handover): Promise<readonly EventOutcome[]> {
    try {
      const { outcomes, counts, safe } = await this.#send(tenantId, handover);
      await safe;
      this.metrics.accepted(counts.accepted, counts.unpriced);
      this.metrics.lostByClients(counts.lostByClients);
      return outcomes;
    } catch (error) {
      throw this.#awayOr(error);
    }
  }

  async #send(tenantId: string, handover: Handover): Promise<UnderWay> {
    const { events, key, dialect, partial } = handover;
    const intake = await this.intake.judge({ tenantId, events, key, dialect, nowMs: this.clock.now() });
    if (intake.kind === 'key_reused') throw this.#keyReused();
    const outcomes = intake.verdicts.map(outcomeOf);
    const refused = refusals(outcomes);
    for (const { reason } of refused) this.metrics.refused(reason);
    if (!partial && refused.length > 0) throw refusedWhole(outcomes);
    const fresh = taken(intake.verdicts).filter(({ repeated }) => !repeated);
    handover.events = [];
    return { outcomes, counts: countsOf(fresh), safe: this.gate.pass(intake.arrival, fresh) };
  }

  /** One event the gateway made of a call. Resolves with its id when it is safe. */
  async record(tenantId: string, event: TranslatedEvent): Promise<string> {
    try {
      const { arrival, verdict } = await this.intake.judgeOwn(tenantId, event, this.clock.now());
      if (!verdict.ok) throw new ProblemException(verdict.refusal.status, verdict.refusal.error, verdict.refusal);
      await this.gate.pass(arrival, [verdict]);
      this.metrics.accepted(1, 0);
      return verdict.event.id;
    } catch (error) {
      throw this.#awayOr(error);
    }
  }

  #keyReused(): ProblemException {
    this.metrics.turnedAway('key_reused');
    return new ProblemException(422, 'Idempotency-Key reused', {
      details: [{ path: 'headers.idempotency-key', message: 'was used before with another body' }],
      hint: 'Send a new batch under a new key; repeat a key only with the very same events.',
    });
  }

  #awayOr(error: unknown): unknown {
    const afterMs = error instanceof BusUnavailable ? error.afterMs : error instanceof StateUnavailable ? 1_000 : null;
    if (afterMs === null) return error;
    this.metrics.turnedAway('unavailable');
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

/** An SDK reports with a later batch what it could not deliver; a repeated report is not counted again. */
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
