import {
  breakerChanged,
  breakersDue,
  COMMANDS,
  type Decision,
  type DecisionPath,
  type DecisionRequest,
  rulesChanged,
} from '@agentlens/contracts';
import { CommandUnanswered, type EventBus, type Watch } from '@agentlens/messaging';
import {
  type Clock,
  type ControlBoard,
  type ControlState,
  orderedOutcome,
  type Platform,
  stateOfRun,
} from '@agentlens/platform';
import type { GatewayMetrics } from './gateway-metrics.ts';
import { GatewayRecords, type RunRecorder } from './gateway-records.ts';
import type { LocalDecisionPath } from './local/decision-path.ts';
import { RememberedAnswers } from './remembered-answers.ts';
import { decideByFailMode, describeCall, type FailMode, refuse } from './undecided.ts';

/** Extra time for the transport of the answer; the evaluator keeps the deadline itself. */
const GRACE_MS = 25;

/** A decision and who made it. */
export interface Answered {
  readonly decision: Decision;
  readonly by: 'gateway' | 'evaluator';
}

interface DecisionGatewayDependencies {
  readonly bus: EventBus;
  readonly board: Pick<ControlBoard, 'stateOf'>;
  readonly recorder: RunRecorder;
  readonly metrics: GatewayMetrics;
  readonly clock: Clock;
  readonly logger: Platform['logger'];
  readonly path: Pick<LocalDecisionPath, 'local'>;
}

/** The tenant's settings for decisions. */
export interface DecisionSettings {
  readonly failMode: FailMode;
  /** `evaluator`: this gateway asks about every call of the tenant. */
  readonly path?: DecisionPath | undefined;
}

/**
 * Decides a call from what is known here, or asks the evaluator, and always returns an answer. If the evaluator does
 * not answer in time, orders still apply, because the gateway knows them; beyond that the fail mode decides. Such a
 * bypass is counted and recorded after the agent has its answer.
 */
export class DecisionGateway {
  readonly #parts: DecisionGatewayDependencies;
  readonly #records: GatewayRecords;
  readonly #answers: RememberedAnswers;
  #watches: readonly Watch[] = [];

  constructor(parts: DecisionGatewayDependencies) {
    this.#parts = parts;
    this.#records = new GatewayRecords(parts);
    this.#answers = new RememberedAnswers(() => parts.clock.now());
  }

  /** Follows what cached answers depend on. Without the bus, no answer is cached. */
  async start(): Promise<void> {
    const { bus, logger } = this.#parts;
    const forget = ({ value }: { readonly value: { readonly tenantId: string } }) =>
      this.#answers.changed(value.tenantId);
    try {
      this.#watches = await Promise.all([
        bus.watch(rulesChanged, { from: 'new' }, forget),
        bus.watch(breakerChanged, { from: 'new' }, forget),
        bus.watch(breakersDue, { from: 'new' }, forget),
      ]);
    } catch (error) {
      logger.warn({ err: error }, 'message bus unavailable; repeated questions are decided again');
    }
  }

  /** Stops following changes, and waits for the records of bypasses. */
  async drain(): Promise<void> {
    await Promise.all(this.#watches.map((watch) => watch.close()));
    await this.#records.drain();
  }

  /** Answers a question: a repeated one as before, a new one from here, from the evaluator, or by the fail mode. */
  async decide(request: DecisionRequest, settings: DecisionSettings): Promise<Answered> {
    const order = stateOfRun(this.#parts.board, request);
    this.#records.oddities(request);
    this.#answers.ended(request);
    // Newer orders take precedence over a cached answer, which may be outdated if changes are not announced.
    const isCached = request.requestId !== undefined && order.kind === 'none' && this.#watches.length > 0;
    if (!isCached) return this.#decideNew(request, order, settings);
    return this.#answers.once(request, () => this.#decideNew(request, order, settings));
  }

  async #decideNew(request: DecisionRequest, order: ControlState, settings: DecisionSettings): Promise<Answered> {
    const { metrics, path } = this.#parts;
    const local = settings.path === 'evaluator' ? undefined : path.local;
    if (local === undefined) {
      const answered = await this.#ask(request, settings.failMode);
      metrics.decidedBy(answered.by, 'setting');
      return answered;
    }
    const here = local.decide(request, order);
    if ('decision' in here) {
      metrics.decidedBy('gateway', 'known');
      return { decision: here.decision, by: 'gateway' };
    }
    const answered = await this.#ask({ ...request, because: here.because }, settings.failMode);
    metrics.decidedBy(answered.by, here.because.asked);
    if (answered.by === 'evaluator') local.learn(request, here, answered.decision);
    return answered;
  }

  async #ask(request: DecisionRequest, failMode: FailMode): Promise<Answered> {
    const { bus, logger } = this.#parts;
    try {
      const command = { ...COMMANDS.decide, deadlineMs: request.deadlineMs + GRACE_MS };
      const answer = await bus.request(command, request);
      if (answer.ok) return { decision: answer.value, by: 'evaluator' };
      logger.error({ problem: answer.problem, runId: request.runId }, 'evaluator rejected a question');
      return { decision: this.#decideUnasked(request, failMode, 'error'), by: 'gateway' };
    } catch (error) {
      if (!(error instanceof CommandUnanswered)) logger.error({ err: error }, 'asking the evaluator failed');
      return { decision: this.#decideUnasked(request, failMode, 'unavailable'), by: 'gateway' };
    }
  }

  /** Orders may have arrived while the evaluator was asked. */
  #decideUnasked(request: DecisionRequest, failMode: FailMode, why: 'unavailable' | 'error'): Decision {
    const { board, clock, metrics } = this.#parts;
    const order = stateOfRun(board, request);
    const decision: Decision =
      order.kind === 'none'
        ? decideByFailMode(request, clock.now(), failMode, why)
        : { ...describeCall(request, clock.now()), ...orderedOutcome(order), bypasses: [] };
    metrics.bypassed(why, decision.verdict);
    this.#records.bypass({ ...decision, decider: { by: 'gateway', ...request.because } }, why);
    return decision;
  }

  /**
   * The answer for a key over its question quota. It blocks, so that flooding the gateway does not bypass the rules. It
   * is counted but not recorded; otherwise it would cost more than an evaluated question.
   */
  overQuota(request: DecisionRequest): Decision {
    const { clock, metrics } = this.#parts;
    metrics.overQuota();
    const message = 'This API key asks for more decisions per second than it may; ask again in a second';
    return refuse(request, clock.now(), message);
  }

  /** The answer to a question whose names, tags and subjects alone are too large to be evaluated. */
  tooLarge(request: DecisionRequest): Decision {
    const message = 'The tags, subjects and metrics of this call are too many to be judged; send fewer';
    return refuse({ ...request, args: undefined, result: undefined }, this.#parts.clock.now(), message);
  }
}
