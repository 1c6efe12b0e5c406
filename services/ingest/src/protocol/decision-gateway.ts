import {
  type AskedBecause,
  breakerChanged,
  breakersDue,
  COMMANDS,
  contentHash,
  type Decision,
  type DecisionPath,
  type DecisionRequest,
  decisionDecided,
  HANDLEBAR_DIALECT,
  recordedToolName,
  rulesChanged,
  type TranslatedEvent,
  timeOrderedId,
} from '@agentlens/contracts';
import { mixesScripts } from '@agentlens/guardrails/names';
import { BackgroundWork, CommandUnanswered, type EventBus, type Watch } from '@agentlens/messaging';
import {
  type Clock,
  type ControlBoard,
  type ControlState,
  orderedOutcome,
  type Platform,
  stateOfRun,
} from '@agentlens/platform';
import { BoundedMap } from '@agentlens/state';
import type { BeforeApplicationShutdown, OnApplicationBootstrap } from '@nestjs/common';
import type { EventIngestor } from '../event-ingestor.ts';
import type { Answered, LocalDecisions } from './local-decisions.ts';
import type { ProtocolMetrics } from './protocol-metrics.ts';
import { RememberedAnswers } from './remembered-answers.ts';

/** Something unusual about a question that an operator should see, although it is answered. */
interface Oddity {
  /**
   * `other_identity`: the run was started under another identity. `mixed_scripts`: a tool's name imitates another one.
   */
  readonly what: 'other_identity' | 'mixed_scripts';
  /** Equal for every question of the run with the same oddity. */
  readonly name: string;
  readonly payload: Readonly<Record<string, unknown>>;
}

function odditiesOf(request: DecisionRequest): Oddity[] {
  const { tenantId, runId, agentId, sessionId, actor, startedAs, tool } = request;
  const oddities: Oddity[] = [];
  const add = (what: Oddity['what'], payload: Oddity['payload']) =>
    oddities.push({ what, name: JSON.stringify([tenantId, runId, what, payload]), payload });
  if (startedAs !== undefined) {
    const started = { ...startedAs, actor: startedAs.actor?.externalId };
    add('other_identity', { asked: { agentId, sessionId, actor: actor?.externalId }, started });
  }
  if (tool !== undefined && mixesScripts(tool.name)) add('mixed_scripts', { toolName: tool.name });
  return oddities;
}

function oddityEvent({ agentId, runId, callId, tool }: DecisionRequest, { what, payload }: Oddity): TranslatedEvent {
  const facts: TranslatedEvent['facts'] = {
    agentId,
    runId,
    kind: 'custom.recorded',
    dialect: HANDLEBAR_DIALECT,
    sourceType: `decision.${what}`,
    severity: 'warn',
    isError: false,
    toolName: tool && recordedToolName(tool.name),
    callId,
    payload: JSON.parse(JSON.stringify(payload)) as TranslatedEvent['facts']['payload'],
    metadata: {},
  };
  return { clientId: undefined, timestamp: undefined, facts };
}

/** Extra time for the transport of the answer; the evaluator keeps the deadline itself. */
const GRACE_MS = 25;
/** Maximum number of records in progress. Beyond it, bypasses are only counted. */
const MAX_RECORDINGS = 1_000;
/** Maximum number of remembered oddities. The oldest are evicted, which at worst records one twice. */
const MAX_REPORTED_ODDITIES = 10_000;
/** Records per bypass: the decision, and an event in its run. */
const RECORDS_EACH = 2;

interface DecisionGatewayDependencies {
  readonly bus: EventBus;
  readonly board: Pick<ControlBoard, 'stateOf'>;
  readonly ingestor: Pick<EventIngestor, 'record'>;
  readonly metrics: ProtocolMetrics;
  readonly clock: Clock;
  readonly logger: Platform['logger'];
  /** Absent if the evaluator decides every call. */
  readonly path: { readonly local: Pick<LocalDecisions, 'decide'> | undefined };
}

/** The tenant's settings for decisions. */
interface DecisionSettings {
  /** What happens to calls that could not be evaluated. */
  readonly failMode: 'allow' | 'block';
  /** `evaluator`: this gateway asks about every call of the tenant. */
  readonly path?: DecisionPath | undefined;
}

type FailMode = DecisionSettings['failMode'];

/**
 * Decides a call from what is known here, or asks the evaluator, and always returns an answer. If the evaluator does
 * not answer in time, orders still apply, because the gateway knows them; beyond that the fail mode decides. Such a
 * bypass is counted and recorded after the agent has its answer.
 */
export class DecisionGateway implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #parts: DecisionGatewayDependencies;
  readonly #recording = new BackgroundWork();
  readonly #answers: RememberedAnswers;
  #watches: readonly Watch[] = [];
  readonly #reported = new BoundedMap<true>(MAX_REPORTED_ODDITIES);

  constructor(parts: DecisionGatewayDependencies) {
    this.#parts = parts;
    this.#answers = new RememberedAnswers(() => parts.clock.now());
  }

  /** Follows what cached answers depend on. Without the bus, no answer is cached. */
  async onApplicationBootstrap(): Promise<void> {
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

  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all(this.#watches.map((watch) => watch.close()));
  }

  async decide(request: DecisionRequest, settings: DecisionSettings): Promise<Answered> {
    const { requestId } = request;
    const controlState = stateOfRun(this.#parts.board, request);
    this.#reportOddities(request);
    const answer = () => this.#answer(request, controlState, settings);
    this.#answers.ended(request);
    // Newer orders take precedence over a cached answer, which may be outdated if changes are not announced.
    const isCached = requestId !== undefined && controlState.kind === 'none' && this.#watches.length > 0;
    return isCached ? this.#answers.once(request, answer) : answer();
  }

  async #answer(
    request: DecisionRequest,
    controlState: ControlState,
    { failMode, path }: DecisionSettings,
  ): Promise<Answered> {
    const { metrics } = this.#parts;
    const local = path === 'evaluator' ? undefined : this.#parts.path.local;
    const ask = (because?: AskedBecause) =>
      this.#ask(because === undefined ? request : { ...request, because }, failMode);
    if (local !== undefined) return local.decide(request, controlState, ask);
    const answered = await ask();
    metrics.decidedBy(answered.by, 'setting');
    return answered;
  }

  async #ask(request: DecisionRequest, failMode: FailMode): Promise<Answered> {
    const { bus, logger } = this.#parts;
    try {
      const command = { ...COMMANDS.decide, deadlineMs: request.deadlineMs + GRACE_MS };
      const answer = await bus.request(command, request);
      if (answer.ok) return { decision: answer.value, by: 'evaluator' };
      logger.error({ problem: answer.problem, runId: request.runId }, 'evaluator rejected a question');
      return { decision: this.#fallback(request, failMode, 'error'), by: 'gateway' };
    } catch (error) {
      if (!(error instanceof CommandUnanswered)) logger.error({ err: error }, 'asking the evaluator failed');
      return { decision: this.#fallback(request, failMode, 'unavailable'), by: 'gateway' };
    }
  }

  /**
   * The answer for a key over its question quota. It blocks, so that flooding the gateway does not bypass the rules. It
   * is counted but not recorded; otherwise it would cost more than an evaluated question.
   */
  overQuota(request: DecisionRequest): Decision {
    this.#parts.metrics.overQuota();
    return this.#refused(request, 'This API key asks for more decisions per second than it may; ask again in a second');
  }

  /** The answer to a question whose names, tags and subjects alone are too large to be evaluated. */
  tooLarge(request: DecisionRequest): Decision {
    const message = 'The tags, subjects and metrics of this call are too many to be judged; send fewer';
    return this.#refused({ ...request, args: undefined, result: undefined }, message);
  }

  #refused(request: DecisionRequest, message: string): Decision {
    return {
      ...{ ...this.#blank(request), bypasses: [], verdict: 'BLOCK', control: 'CONTINUE', effect: 'block' },
      ...{ cause: { kind: 'LOCKDOWN' }, message },
    };
  }

  /** Waits for the records of bypasses. */
  async drain(): Promise<void> {
    await this.#recording.ended();
  }

  #fallback(request: DecisionRequest, failMode: FailMode, why: 'unavailable' | 'error'): Decision {
    const decision = this.#ordered(request) ?? this.#byFailMode(request, failMode, why);
    this.#parts.metrics.bypassed(why, decision.verdict);
    this.#record({ ...decision, decider: { by: 'gateway', ...request.because } }, why);
    return decision;
  }

  #ordered(request: DecisionRequest): Decision | undefined {
    const controlState = stateOfRun(this.#parts.board, request);
    if (controlState.kind === 'none') return undefined;
    return { ...this.#blank(request), ...orderedOutcome(controlState), bypasses: [] };
  }

  /** Records each oddity once per run, without delaying the answer. */
  #reportOddities(request: DecisionRequest): void {
    const { ingestor, metrics, logger } = this.#parts;
    for (const oddity of odditiesOf(request)) {
      metrics.odd(oddity.what);
      if (this.#reported.has(oddity.name) || this.#recording.size >= MAX_RECORDINGS) continue;
      this.#reported.set(oddity.name, true);
      const recorded = ingestor.record(request.tenantId, oddityEvent(request, oddity)).then(
        () => undefined,
        (error: unknown) => {
          this.#reported.delete(oddity.name);
          logger.warn({ err: error, what: oddity.what }, 'recording an unusual question failed, it was counted');
        },
      );
      this.#recording.add(recorded);
    }
  }

  #byFailMode(request: DecisionRequest, did: FailMode, why: 'unavailable' | 'error'): Decision {
    const bypasses = [{ ruleId: '*', why, did }] as const;
    const common = { ...this.#blank(request), bypasses: [...bypasses], reason: 'unjudged' as const };
    if (did === 'allow') {
      const message = 'No rule could be evaluated in time; the call is allowed by the fail mode';
      return { ...common, verdict: 'ALLOW', control: 'CONTINUE', effect: 'allow', cause: { kind: 'ALLOW' }, message };
    }
    const message = 'No rule could be evaluated in time; the call is blocked by the fail mode';
    return { ...common, verdict: 'BLOCK', control: 'CONTINUE', effect: 'block', cause: { kind: 'LOCKDOWN' }, message };
  }

  #blank(request: DecisionRequest) {
    const { tenantId, agentId, runId, phase, tool, callId, receivedAt } = request;
    const nowMs = this.#parts.clock.now();
    return {
      id: timeOrderedId(nowMs),
      ...{ tenantId, agentId, runId, phase, toolName: tool && recordedToolName(tool.name), callId },
      evaluatedRules: [],
      inputsDigest: contentHash(request, 'args'),
      latencyMs: Math.max(0, nowMs - Date.parse(receivedAt)),
      decidedAt: new Date(nowMs).toISOString(),
    };
  }

  #record(decision: Decision, why: string): void {
    const { bus, ingestor, logger, metrics } = this.#parts;
    if (this.#recording.size >= MAX_RECORDINGS) {
      metrics.dropped('bypass_record', RECORDS_EACH);
      return;
    }
    // One may fail while the other is still awaited.
    const recording = Promise.allSettled([
      bus.publish(decisionDecided, decision),
      ingestor.record(decision.tenantId, bypassed(decision, why)),
    ]).then((records) => {
      const errors = records.flatMap((record): unknown[] => (record.status === 'rejected' ? [record.reason] : []));
      if (errors.length === 0) return;
      metrics.dropped('bypass_record', errors.length);
      logger.warn({ err: errors[0], missing: errors.length }, 'recording a bypassed decision failed, it was counted');
    });
    this.#recording.add(recording);
  }
}

function bypassed({ id, agentId, runId, phase, toolName, callId, verdict }: Decision, why: string): TranslatedEvent {
  const facts: TranslatedEvent['facts'] = {
    agentId,
    runId,
    kind: 'custom.recorded',
    dialect: HANDLEBAR_DIALECT,
    sourceType: 'decision.bypassed',
    severity: 'warn',
    isError: false,
    toolName,
    callId,
    payload: { decisionId: id, phase, why, verdict },
    metadata: {},
  };
  return { clientId: undefined, timestamp: undefined, facts };
}
