import type { Decision, DecisionRequest } from '@agentlens/contracts';
import { type DecisionGateway, type KnownRuns, placeRun, type TreeLimiter } from '@agentlens/decisions';
import type { ModelRefusal } from '@agentlens/model-api';
import type { Platform, PriceBooks } from '@agentlens/platform';
import { type Quota, StateUnavailable } from '@agentlens/state';
import { type AskingAgain, askUntilDecided } from '../ask-until-decided.ts';
import type { Connection } from '../connections/connections.ts';
import { describeCall } from '../describe-call.ts';
import { describeDecision, wasUndecided } from '../describe-decision.ts';
import type { GatewayCall } from '../gateway-call.ts';
import { RefusedCall } from '../refused-call.ts';
import type { StandingRefusals } from '../standing-refusals.ts';
import type { CallEstimate, CallEstimates, EstimatedUsage } from './estimate.ts';

const DEADLINE_MS = 1_000;
/** How long a call waits for a decision that cannot be made now, before it is refused by the fail mode. */
const UNDECIDED_MS = 10_000;
/** The same for an open answer, before it ends. */
const UNDECIDED_OPEN_MS = 30_000;
/** Events of a call: that it was sent, and how it ended. */
const EVENTS_PER_CALL = 2;

interface AdmissionDependencies extends AskingAgain {
  readonly decisions: Pick<DecisionGateway, 'decide'>;
  readonly runs: Pick<KnownRuns, 'completed'>;
  readonly trees: Pick<TreeLimiter, 'running'>;
  readonly quota: Pick<Quota, 'take'>;
  readonly estimates: Pick<CallEstimates, 'estimate'>;
  readonly prices: Pick<PriceBooks, 'of'>;
  readonly standing: Pick<StandingRefusals, 'noteLack' | 'find'>;
  readonly logger: Platform['logger'];
}

/** A call that may be sent. */
export interface AdmittedCall {
  readonly decision: Decision;
  /** Runs whose orders apply to the call, too. */
  readonly ancestors: readonly string[];
  readonly estimate: CallEstimate;
  /**
   * Asks whether its open answer may go on to this usage. Returns why not. Never rejects.
   *
   * @param used what the answer used by now of its reservation
   * @param ended aborted when the answer is not needed any more
   */
  readonly grow: (next: EstimatedUsage, used: EstimatedUsage, ended: AbortSignal) => Promise<ModelRefusal | undefined>;
  /**
   * Holds what is reserved for longer: reservations end after ten minutes, and answers may take an hour. Never rejects.
   *
   * @param ended aborted when the answer is not needed any more
   */
  readonly renew: (reserved: EstimatedUsage, ended: AbortSignal) => Promise<void>;
  /**
   * The estimate of the call at the prices of another connection. If that costs more, it replaces the reservation. Returns
   * undefined if there is no room for it.
   */
  readonly reprice: (other: Connection, ended: AbortSignal) => Promise<CallEstimate | undefined>;
}

/**
 * Admits a call before anything is sent: the event quota of the key, then orders, breakers, rules of `llm.before`, and a
 * reservation in budgets.
 */
export class Admission {
  readonly #parts: AdmissionDependencies;

  constructor(parts: AdmissionDependencies) {
    this.#parts = parts;
  }

  /**
   * @param left aborted when the client leaves
   * @throws RefusedCall
   */
  async require(call: GatewayCall, left: AbortSignal): Promise<AdmittedCall> {
    const { tenantId, runId, agentId, model, connection, request } = call;
    const { standing, estimates, prices } = this.#parts;
    const [{ lackedUsd, message }] = await Promise.all([standing.find(tenantId, runId), this.#requireQuota(call)]);
    if (message !== undefined) throw new RefusedCall('policy', 'agentlens_stopped', message);
    const estimated = { tenantId, agentId, model, provider: connection.provider, request };
    const estimate = estimates.estimate(estimated, prices.of(tenantId));
    const first = estimate.usageAt(estimate.stepTokens);
    const usage = { ...first, costUsd: Math.max(first.costUsd, lackedUsd) };
    const question = await placeRun(this.#parts, this.#question(call, usage), call.caller.treeLimits);
    const decision = await this.#askUntilDecided(call, question, UNDECIDED_MS, left);
    if (!isAllowed(decision)) throw refuseCall(decision);
    return {
      decision,
      ancestors: question.ancestors ?? [],
      estimate,
      grow: (next, used, ended) => this.#grow(call, question, next, used, ended),
      renew: (reserved, ended) => this.#renew(call, question, reserved, ended),
      reprice: (other, ended) => this.#reprice(call, question, usage, other, ended),
    };
  }

  /** The call was decided before. Only what it may cost is asked about again. */
  async #reprice(
    call: GatewayCall,
    question: DecisionRequest,
    reserved: EstimatedUsage,
    { provider }: Connection,
    ended: AbortSignal,
  ): Promise<CallEstimate | undefined> {
    const { tenantId, agentId, model, request } = call;
    const { estimates, prices } = this.#parts;
    const estimate = estimates.estimate({ tenantId, agentId, model, provider, request }, prices.of(tenantId));
    const next = estimate.usageAt(estimate.stepTokens);
    if (next.costUsd <= reserved.costUsd) return estimate;
    const dearer = { ...question, estimate: next, grows: true as const };
    const decision = await this.#askUntilDecided(call, dearer, UNDECIDED_MS, ended);
    return isAllowed(decision) ? estimate : undefined;
  }

  async #ask({ caller }: GatewayCall, question: DecisionRequest): Promise<Decision> {
    const { decisionFailMode: failMode = 'allow', decisionPath: path } = caller;
    return (await this.#parts.decisions.decide(question, { failMode, path })).decision;
  }

  /** Asks whether an open answer may go on to this usage. Returns why not. Never rejects. */
  async #grow(
    call: GatewayCall,
    question: DecisionRequest,
    estimate: EstimatedUsage,
    used: EstimatedUsage,
    ended: AbortSignal,
  ): Promise<ModelRefusal | undefined> {
    const growing = { ...question, estimate, grows: true as const };
    const decision = await this.#askUntilDecided(call, growing, UNDECIDED_OPEN_MS, ended);
    if (isAllowed(decision) || ended.aborted) return undefined;
    const isUndecided = wasUndecided(decision);
    const text = `AgentLens stopped this answer: ${describeDecision(decision)}`;
    if (decision.reason !== 'budget' || isUndecided)
      return { kind: 'policy', code: 'agentlens_stopped', message: text };
    await this.#parts.standing.noteLack(call.tenantId, call.runId, Math.max(0, estimate.costUsd - used.costUsd));
    return { kind: 'money', code: 'agentlens_budget', message: text };
  }

  /** What is reserved was allowed, so that an answer does not end by this question. */
  async #renew(call: GatewayCall, question: DecisionRequest, estimate: EstimatedUsage, ended: AbortSignal) {
    if (!ended.aborted) await this.#ask(call, { ...question, estimate, grows: true });
  }

  #askUntilDecided(call: GatewayCall, question: DecisionRequest, forMs: number, ended: AbortSignal): Promise<Decision> {
    const waitsMs = (decision: Decision) => (wasUndecided(decision) ? forMs : 0);
    return askUntilDecided(this.#parts, () => this.#ask(call, question), waitsMs, ended);
  }

  /** The events of a call count in the quota of the key, as reported ones do. */
  async #requireQuota({ caller: { keyId, eventsPerSecond } }: GatewayCall): Promise<void> {
    const { quota, clock, logger } = this.#parts;
    try {
      const answer = await quota.take(keyId, EVENTS_PER_CALL, eventsPerSecond, clock.now());
      if (answer.allowed) return;
    } catch (error) {
      if (!(error instanceof StateUnavailable)) throw error;
      logger.warn({ err: error }, 'state store unavailable, a model call is not counted in the quota of its key');
      return;
    }
    throw new RefusedCall('rate_limited', 'quota', `This API key may send ${eventsPerSecond} events per second.`);
  }

  #question(call: GatewayCall, estimate: EstimatedUsage): DecisionRequest {
    return {
      ...describeCall(call),
      phase: 'llm.before',
      estimate,
      receivedAt: new Date(call.startedAtMs).toISOString(),
      deadlineMs: DEADLINE_MS,
    };
  }
}

function isAllowed({ verdict, control, effect }: Decision): boolean {
  return verdict === 'ALLOW' && control === 'CONTINUE' && effect !== 'ask';
}

function refuseCall(decision: Decision): RefusedCall {
  const { id, reason, effect, approvalId } = decision;
  const text = `AgentLens refused this call: ${describeDecision(decision)}`;
  if (reason === 'budget') return new RefusedCall('money', 'agentlens_budget', text, id);
  if (effect === 'ask' || decision.cause.kind === 'HITL_PENDING') {
    const waits = `AgentLens asks a person about this call (approval ${approvalId ?? id}). Ask again when it is decided.`;
    return new RefusedCall('policy', 'agentlens_approval', waits, id);
  }
  const code = decision.control === 'TERMINATE' ? 'agentlens_stopped' : 'agentlens_blocked';
  return new RefusedCall('policy', code, text, id);
}
