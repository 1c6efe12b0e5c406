import {
  type AskedBecause,
  type AskReason,
  contentHash,
  type Decision,
  type DecisionRequest,
  timeOrderedId,
} from '@agentlens/contracts';
import type {
  BreakerRef,
  CallIdentity,
  GatewayKnowledge,
  KnownBook,
  LocalAnswer,
  MUST_ASK,
} from '@agentlens/guardrails';
import { BackgroundWork } from '@agentlens/messaging';
import {
  type Clock,
  type ControlState,
  type DecisionMetrics,
  type DecisionPublisher,
  decisionOf,
  keptCall,
  orderedOutcome,
  type Platform,
  ruledOutcome,
} from '@agentlens/platform';
import { BoundedMap, RecentMap } from '@agentlens/state';
import type { GatewayMetrics } from '../gateway-metrics.ts';
import type { BookCache, Guardrails } from './book-cache.ts';

/** How long the evaluator's check of a run's breakers is relied on. Changes are announced meanwhile. */
const RUN_KNOWN_MS = 30_000;
const MAX_KNOWN_RUNS = 100_000;
/** One in this many decisions is also made by the evaluator and compared. */
const SAMPLE_ONE_IN = 1_000;
/** How long the evaluator decides for a tenant after a difference. */
const SWITCHED_MS = 10 * 60_000;
const MAX_SWITCHED = 10_000;

type Identity = Pick<CallIdentity, 'decisionId' | 'argsHash'>;

/** A question that only the evaluator can answer, or that it answers too, for comparison. */
export interface Unanswered {
  readonly because: AskedBecause & { readonly asked: AskReason };
  /** What the gateway would have answered, and by which book; absent if it could not. */
  readonly sampled?: { readonly decision: Decision; readonly book: KnownBook | undefined };
  readonly limitsVersion: string;
  /** On the monotonic clock. */
  readonly sentAtMs: number;
}

interface LocalDecisionsDependencies {
  readonly books: Pick<BookCache, 'use' | 'isSuspect' | 'suspect' | 'isCurrent'>;
  readonly guardrails: Guardrails;
  readonly publisher: Pick<DecisionPublisher, 'offer'>;
  readonly decided: Pick<DecisionMetrics, 'decided'>;
  readonly metrics: Pick<GatewayMetrics, 'differs'>;
  readonly clock: Clock;
  readonly logger: Platform['logger'];
  /** Monotonic clock, in milliseconds. */
  readonly monotonicMs?: () => number;
  /** From 0 to 1. */
  readonly random?: () => number;
  /** The conditions under which the evaluator is asked; a test removes them one by one. */
  readonly mustAsk?: readonly (typeof MUST_ASK)[keyof typeof MUST_ASK][];
}

/** Decides the calls for which the gateway's answer is the evaluator's, and asks about the others. */
export class LocalDecisions {
  readonly #parts: LocalDecisionsDependencies;
  readonly #now: () => number;
  readonly #random: () => number;
  readonly #knownRuns: RecentMap<{ readonly sentAtMs: number; readonly limitsVersion: string }>;
  readonly #comparing = new BackgroundWork();
  readonly #unrecorded: { readonly request: DecisionRequest; readonly decision: Decision }[] = [];
  #recording: NodeJS.Immediate | undefined;
  readonly #switchedUntilMs = new BoundedMap<number>(MAX_SWITCHED);

  constructor(parts: LocalDecisionsDependencies) {
    this.#parts = parts;
    this.#now = parts.monotonicMs ?? (() => performance.now());
    this.#random = parts.random ?? Math.random;
    this.#knownRuns = new RecentMap(this.#now, { ttlMs: RUN_KNOWN_MS, maxEntries: MAX_KNOWN_RUNS });
  }

  /**
   * Decides the call, or says why the evaluator has to be asked. `learn` has to be called with its answer.
   *
   * @param order the order in force for the run; `none` if it may continue
   */
  decide(request: DecisionRequest, order: ControlState): { readonly decision: Decision } | Unanswered {
    const startedAtMs = performance.now();
    const nowMs = this.#parts.clock.now();
    let identity: Identity | undefined;
    const identify = () => {
      identity ??= { decisionId: timeOrderedId(nowMs), argsHash: contentHash(request, 'args') };
      return identity;
    };
    const { limitsVersion, ...known } = this.#knowledge(request, order);
    const sentAtMs = this.#now();
    const answer = this.#parts.guardrails.locally(known, request, identify, nowMs, this.#parts.mustAsk);
    if ('ask' in answer) {
      const because = { asked: answer.ask, ...(answer.forRule === undefined ? {} : { askedForRule: answer.forRule }) };
      return { because, limitsVersion, sentAtMs };
    }
    const isSampled = this.#random() * SAMPLE_ONE_IN < 1;
    if (isSampled) {
      const decision = assembled(request, identify(), order, answer, nowMs, 0);
      return { because: { asked: 'sampled' }, sampled: { decision, book: known.book }, limitsVersion, sentAtMs };
    }
    const decision = assembled(request, identify(), order, answer, nowMs, performance.now() - startedAtMs);
    this.#recordLater(request, decision, known.book?.version);
    return { decision };
  }

  /** Learns from the evaluator's answer which runs and breakers need no question, and compares sampled decisions. */
  learn(request: DecisionRequest, { sampled, limitsVersion, sentAtMs }: Unanswered, decision: Decision): void {
    const { tenantId } = request;
    const { reason, bypasses } = decision;
    if (reason === 'breaker') {
      this.#parts.books.suspect(tenantId, [findBreaker(decision)]);
    } else if (
      reason !== 'order' &&
      reason !== 'tree_limit' &&
      !bypasses.some(({ ruleId }) => ruleId === 'circuit_breaker')
    ) {
      this.#knownRuns.set(nameRun(request), { sentAtMs, limitsVersion });
    }
    if (sampled !== undefined) this.#comparing.add(this.#compare(sampled.decision, decision, sampled.book));
  }

  /** Records the decisions that were answered in this turn of the event loop. */
  recordNow(): void {
    if (this.#recording !== undefined) clearImmediate(this.#recording);
    this.#recording = undefined;
    const { decided, publisher } = this.#parts;
    for (const { request, decision } of this.#unrecorded.splice(0)) {
      decided.decided(decision);
      publisher.offer({ ...decision, ...keptCall(request) });
    }
  }

  /** After the answer is written, because no agent has to wait for the redaction of arguments. */
  #recordLater(request: DecisionRequest, decision: Decision, book: string | undefined): void {
    this.#unrecorded.push({ request, decision: { ...decision, decider: { by: 'gateway', book } } });
    this.#recording ??= setImmediate(() => this.recordNow());
  }

  #knowledge(request: DecisionRequest, order: ControlState): GatewayKnowledge & { readonly limitsVersion: string } {
    const { tenantId } = request;
    const { books } = this.#parts;
    const { book, isFresh, limitsVersion } = books.use(tenantId);
    const run = this.#knownRuns.get(nameRun(request));
    return {
      ...{ book, isFresh, limitsVersion },
      asksAlways: this.#now() < (this.#switchedUntilMs.get(tenantId) ?? 0),
      isOrdered: order.kind !== 'none',
      isRunKnown: run?.limitsVersion === limitsVersion && this.#now() - run.sentAtMs < RUN_KNOWN_MS,
      isSuspect: (ref) => books.isSuspect(tenantId, ref),
    };
  }

  /** Waits for comparisons of sampled decisions. */
  async compared(): Promise<void> {
    await this.#comparing.ended();
  }

  async #compare(here: Decision, there: Decision, book: KnownBook | undefined): Promise<void> {
    // A fact that could not be fetched is a difference that only the evaluator can have.
    if (there.bypasses.some(({ why }) => why === 'unavailable' || why === 'deadline')) return;
    if (comparable(here) === comparable(there)) return;
    // An order, an open breaker or a changed rule may have reached the evaluator first.
    if (there.reason === 'order' || there.reason === 'breaker') return;
    if (book === undefined || !(await this.#parts.books.isCurrent(here.tenantId, book))) return;
    const { tenantId, runId, phase } = here;
    this.#switchedUntilMs.set(tenantId, this.#now() + SWITCHED_MS);
    this.#parts.metrics.differs();
    this.#parts.logger.error(
      { tenantId, runId, phase, gateway: shown(here), evaluator: shown(there) },
      'gateway and evaluator decided differently, the evaluator decides for this tenant for 10 minutes',
    );
  }
}

function assembled(
  request: DecisionRequest,
  identity: Identity,
  order: ControlState,
  answer: Exclude<LocalAnswer, { ask: unknown }>,
  nowMs: number,
  latencyMs: number,
): Decision {
  if ('ordered' in answer) {
    return decisionOf(request, identity, nowMs, { outcome: orderedOutcome(order) }, [], latencyMs);
  }
  const { ruling } = answer;
  const decided = { outcome: ruledOutcome(ruling), ruling };
  return decisionOf(request, identity, nowMs, decided, [...ruling.bypasses], latencyMs);
}

/** What must be equal, regardless of who decides. */
export function comparable(decision: Decision): string {
  const { verdict, control, effect, wouldHave, cause, message, reason, finalRuleId } = decision;
  const { evaluatedRules, bypasses, modifiedArgs, inputsDigest } = decision;
  return JSON.stringify([
    ...[verdict, control, effect, wouldHave, cause, message, reason, finalRuleId],
    ...[evaluatedRules, bypasses, modifiedArgs, inputsDigest],
  ]);
}

/** The decision without payload. */
function shown({ verdict, control, effect, cause, reason, finalRuleId, bypasses }: Decision) {
  return { verdict, control, effect, cause: cause.kind, reason, finalRuleId, bypasses: bypasses.length };
}

/** The breaker that blocked a call. */
function findBreaker({ cause, runId, agentId }: Decision): BreakerRef {
  const lockdownId = cause.kind === 'LOCKDOWN' ? (cause.lockdownId ?? '') : '';
  if (lockdownId.startsWith('breaker:tree:')) return { scope: 'tree', scopeId: runId };
  return lockdownId === `breaker:run:${runId}`
    ? { scope: 'run', scopeId: runId }
    : { scope: 'agent', scopeId: agentId };
}

/** A run that several agents ask for has limits of each. With another ancestor it is part of another tree. */
function nameRun({ tenantId, agentId, runId, ancestors = [] }: DecisionRequest): string {
  return JSON.stringify([tenantId, agentId, runId, ...ancestors]);
}
