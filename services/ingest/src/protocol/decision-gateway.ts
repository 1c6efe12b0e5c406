import {
  canonicalJson,
  COMMANDS,
  contentHash,
  type Decision,
  decisionDecided,
  type DecisionRequest,
  HANDLEBAR_DIALECT,
  sha256Hex,
  timeOrderedId,
  type TranslatedEvent,
} from '@agentlens/contracts';
import { mixesScripts } from '@agentlens/guardrails/names';
import { BackgroundWork, CommandUnanswered, type EventBus } from '@agentlens/messaging';
import {
  type Clock,
  type ControlBoard,
  type ControlState,
  controlStateMessage,
  moreSevere,
  type Platform,
} from '@agentlens/platform';
import { BoundedMap } from '@agentlens/state';
import type { EventIngestor } from '../event-ingestor.ts';
import type { ProtocolMetrics } from './protocol-metrics.ts';

/** A client that has not repeated its question by then has given up. */
const KEPT_MS = 10 * 60_000;
/** The oldest make room. */
const MOST_ANSWERS = 10_000;

interface Remembered {
  readonly answer: Promise<Decision>;
  readonly untilMs: number;
}

/**
 * What questions with an `Idempotency-Key` were answered by this instance, so that a repeated one gets the same answer.
 * At another instance it is decided anew, and still counted once. Not kept: what a human decides or
 * could not be judged, for a later attempt may be told more, and an approval may be spent by then.
 */
class RememberedAnswers {
  readonly #answers = new BoundedMap<Remembered>(MOST_ANSWERS);
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** The same question again, also while the first is being answered. */
  async once(request: DecisionRequest, ask: () => Promise<Decision>): Promise<Decision> {
    const name = nameOf(request);
    const known = this.#answers.get(name);
    if (known !== undefined && known.untilMs > this.#now()) return known.answer;
    const answer = ask();
    this.#answers.set(name, { answer, untilMs: this.#now() + KEPT_MS });
    const decision = await answer;
    if (isPassing(decision)) this.#answers.delete(name);
    return decision;
  }
}

function isPassing({ cause, approvalId, bypasses }: Decision): boolean {
  const asksPeople = cause.kind === 'HITL_PENDING' || approvalId !== undefined;
  return asksPeople || bypasses.some(({ why }) => why !== 'missing');
}

/** Anything else under the same key is another question. */
function nameOf(request: DecisionRequest): string {
  return sha256Hex(canonicalJson({ ...request, receivedAt: undefined, deadlineMs: undefined }));
}

/** Something about a question that an operator should see, though it is answered. */
interface Oddity {
  /** `other_identity`: the run was started as somebody else. `mixed_scripts`: a tool's name passes for another. */
  readonly what: 'other_identity' | 'mixed_scripts';
  /** The same for every question of the run that is odd in the same way. */
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
    toolName: tool?.name.slice(0, 256).toWellFormed(),
    callId,
    payload: JSON.parse(JSON.stringify(payload)) as TranslatedEvent['facts']['payload'],
    metadata: {},
  };
  return { clientId: undefined, timestamp: undefined, facts };
}

/** The evaluator keeps the deadline itself; this much longer its answer may be on its way. */
const GRACE_MS = 25;
/** Bypasses being recorded; beyond it they are counted only. */
const MOST_RECORDING = 1_000;
/** Of a tool's name, as decisions are kept with it. */
const MOST_NAME_CHARS = 256;
/** Odd questions of runs that were recorded; the oldest make room, which at worst records one again. */
const MOST_TOLD = 10_000;
/** Of a bypass: the decision, and an event in its run. */
const RECORDS_EACH = 2;

interface DecisionGatewayDependencies {
  readonly bus: EventBus;
  readonly board: Pick<ControlBoard, 'stateOf'>;
  readonly ingestor: Pick<EventIngestor, 'record'>;
  readonly metrics: ProtocolMetrics;
  readonly clock: Clock;
  readonly logger: Platform['logger'];
}

/** What happens to calls that nobody could judge, as their tenant wants it. */
type FailMode = 'allow' | 'block';

/**
 * Asks the evaluator, and always has an answer: where none comes in time, what was ordered still holds (it is known
 * here), and beyond that the fail mode. Such a bypass is counted and recorded, after the agent has its answer.
 */
export class DecisionGateway {
  readonly #parts: DecisionGatewayDependencies;
  readonly #recording = new BackgroundWork();
  readonly #answers: RememberedAnswers;
  readonly #told = new BoundedMap<true>(MOST_TOLD);

  constructor(parts: DecisionGatewayDependencies) {
    this.#parts = parts;
    this.#answers = new RememberedAnswers(() => parts.clock.now());
  }

  async decide(request: DecisionRequest, failMode: FailMode): Promise<Decision> {
    const { requestId } = request;
    const controlState = this.#controlState(request);
    this.#tellOddities(request);
    // What was ordered since outweighs what was answered before.
    if (requestId === undefined || controlState.kind !== 'none') return this.#ask(request, failMode);
    return this.#answers.once(request, () => this.#ask(request, failMode));
  }

  async #ask(request: DecisionRequest, failMode: FailMode): Promise<Decision> {
    const { bus, logger } = this.#parts;
    try {
      const command = { ...COMMANDS.decide, deadlineMs: request.deadlineMs + GRACE_MS };
      const answer = await bus.request(command, request);
      if (answer.ok) return answer.value;
      logger.error({ problem: answer.problem, runId: request.runId }, 'the evaluator refused a question');
      return this.#fallback(request, failMode, 'error');
    } catch (error) {
      if (!(error instanceof CommandUnanswered)) logger.error({ err: error }, 'a question could not be asked');
      return this.#fallback(request, failMode, 'unavailable');
    }
  }

  /**
   * The answer to a key that asks more often than it may: blocked, for whoever floods the gateway must not thereby get
   * past the rules. Counted and not recorded, or every such question would cost more than one that is answered.
   */
  overQuota(request: DecisionRequest): Decision {
    this.#parts.metrics.overQuota();
    return this.#refused(request, 'This API key asks for more decisions per second than it may; ask again in a second');
  }

  /** The answer to a question whose names, tags and subjects alone are more than rules can be asked about. */
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
    this.#record(decision, why);
    return decision;
  }

  #ordered(request: DecisionRequest): Decision | undefined {
    const controlState = this.#controlState(request);
    const { kind, because } = controlState;
    if (kind === 'none') return undefined;
    return {
      ...this.#blank(request),
      verdict: 'BLOCK',
      control: 'TERMINATE',
      effect: 'terminate',
      cause: { kind: 'LOCKDOWN', ...(because && { lockdownId: because.id }) },
      message: controlStateMessage(controlState),
      reason: 'order',
      bypasses: [],
    };
  }

  #controlState({ tenantId, agentId, runId, ancestors, startedAs }: DecisionRequest): ControlState {
    const { board } = this.#parts;
    const named = board.stateOf(tenantId, agentId, runId, ancestors);
    const starter = startedAs?.agentId;
    return starter === undefined ? named : moreSevere(named, board.stateOf(tenantId, starter, runId, ancestors));
  }

  /** Once per run and oddity, beside the answer. */
  #tellOddities(request: DecisionRequest): void {
    const { ingestor, metrics, logger } = this.#parts;
    for (const oddity of odditiesOf(request)) {
      metrics.odd(oddity.what);
      if (this.#told.has(oddity.name) || this.#recording.size >= MOST_RECORDING) continue;
      this.#told.set(oddity.name, true);
      const recorded = ingestor.record(request.tenantId, oddityEvent(request, oddity)).then(
        () => undefined,
        (error: unknown) => {
          this.#told.delete(oddity.name);
          logger.warn({ err: error, what: oddity.what }, 'an odd question was counted, but not recorded');
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
      ...{ tenantId, agentId, runId, phase, toolName: tool?.name.slice(0, MOST_NAME_CHARS).toWellFormed(), callId },
      evaluatedRules: [],
      inputsDigest: contentHash(request, 'args'),
      latencyMs: Math.max(0, nowMs - Date.parse(receivedAt)),
      decidedAt: new Date(nowMs).toISOString(),
    };
  }

  #record(decision: Decision, why: string): void {
    const { bus, ingestor, logger, metrics } = this.#parts;
    if (this.#recording.size >= MOST_RECORDING) {
      metrics.dropped('bypass_record', RECORDS_EACH);
      return;
    }
    // One may fail without the other, and the other is still waited for.
    const recording = Promise.allSettled([
      bus.publish(decisionDecided, decision),
      ingestor.record(decision.tenantId, bypassed(decision, why)),
    ]).then((records) => {
      const errors = records.flatMap((record): unknown[] => (record.status === 'rejected' ? [record.reason] : []));
      if (errors.length === 0) return;
      metrics.dropped('bypass_record', errors.length);
      logger.warn(
        { err: errors[0], missing: errors.length },
        'a bypassed decision was counted, but not wholly recorded',
      );
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
