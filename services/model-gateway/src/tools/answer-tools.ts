import type { Decision } from '@agentlens/contracts';
import type { LocalDecisionPath } from '@agentlens/decisions';
import { BackgroundWork } from '@agentlens/messaging';
import type { AnsweredCall, ToolVerdict, ToolVerdicts } from '@agentlens/model-api';
import type { Platform } from '@agentlens/platform';
import { type AskingAgain, askUntilDecided } from '../ask-until-decided.ts';
import { describeDecision, wasUndecided } from '../describe-decision.ts';
import type { GatewayCall } from '../gateway-call.ts';
import type { StandingRefusals } from '../standing-refusals.ts';
import { Stopped } from '../stopped.ts';
import type { ToolQuestions } from './tool-questions.ts';

/** How long an answer waits for an approval. Codex gives up after five silent minutes. */
const APPROVAL_WAIT_MS = 120_000;
/** The same for a question that cannot be answered now, such as in a peak of load. */
const UNDECIDED_MS = 30_000;
/** A person takes longer than a peak of load. */
const PAUSES = { firstMs: 1_000, longestMs: 8_000 };

interface AnswerToolsDependencies extends AskingAgain {
  readonly questions: Pick<ToolQuestions, 'ask'>;
  readonly path: Pick<LocalDecisionPath, 'concerns'>;
  /** A rule that ends an answer also ends the next calls of the run for a while. */
  readonly standing: Pick<StandingRefusals, 'noteStop'>;
  readonly logger: Platform['logger'];
}

/** Decides the tool calls inside answers, before the agent sees them. */
export class AnswerTools {
  readonly #parts: AnswerToolsDependencies;
  readonly #noting = new BackgroundWork();

  constructor(parts: AnswerToolsDependencies) {
    this.#parts = parts;
  }

  /** Whether a call of the tool has to be decided before the agent sees it. True if that is not known. */
  holds({ tenantId, agentId }: GatewayCall, toolName: string): boolean {
    if (toolName === '') return true;
    const tool = { name: toolName, tags: ['via:gateway'] };
    return this.#parts.path.concerns({ tenantId, agentId, phase: 'tool.before', tool }) !== false;
  }

  /**
   * Decides all calls of an answer, in its order.
   *
   * @param isSigned the provider has signed parts of the answer, so that arguments cannot be changed
   * @throws Stopped if a decision ends the run; what aborts the signal
   */
  async decide(
    call: GatewayCall,
    calls: readonly AnsweredCall[],
    isSigned: boolean,
    signal: AbortSignal,
  ): Promise<ToolVerdicts> {
    const verdicts = new Map<string, ToolVerdict>();
    for (const one of calls) {
      const decision = await this.#decideOne(call, one, signal);
      if (decision.control === 'TERMINATE') throw await this.#stop(call, one, decision);
      verdicts.set(one.key, toVerdict(one, decision, isSigned));
    }
    return verdicts;
  }

  async #stop({ tenantId, runId }: GatewayCall, { name }: AnsweredCall, decision: Decision): Promise<Stopped> {
    const message = `AgentLens stopped this answer at the tool ${name.slice(0, 100)}: ${describeDecision(decision)}`;
    if (decision.reason === 'rule') await this.#parts.standing.noteStop(tenantId, runId, message);
    return new Stopped({ kind: 'policy', code: 'agentlens_stopped', message });
  }

  /** Asks about calls that the agent has already, so that they are recorded. No answer waits for it. */
  note(call: GatewayCall, calls: readonly AnsweredCall[]): void {
    for (const one of calls) {
      const noted = this.#ask(call, one).then(
        () => undefined,
        (error: unknown) => this.#parts.logger.warn({ err: error, runId: call.runId }, 'noting a tool call failed'),
      );
      this.#noting.add(noted);
    }
  }

  async drain(): Promise<void> {
    await this.#noting.ended();
  }

  #ask(call: GatewayCall, { id, key, name, args, argsChars }: AnsweredCall): Promise<Decision> {
    const callId = id ?? `${call.id}:${key}`;
    return this.#parts.questions.ask(call, { phase: 'tool.before', name, callId, args, argsChars });
  }

  /** A call that needs an approval, or that cannot be decided now, is asked about again until it is decided. */
  async #decideOne(call: GatewayCall, one: AnsweredCall, signal: AbortSignal): Promise<Decision> {
    const waitsMs = (decision: Decision) =>
      waits(decision) ? APPROVAL_WAIT_MS : wasUndecided(decision) ? UNDECIDED_MS : 0;
    const decision = await askUntilDecided(this.#parts, () => this.#ask(call, one), waitsMs, signal, PAUSES);
    signal.throwIfAborted();
    return decision;
  }
}

function waits({ effect, cause, control }: Decision): boolean {
  return control === 'CONTINUE' && (effect === 'ask' || cause.kind === 'HITL_PENDING');
}

function toVerdict({ name }: AnsweredCall, decision: Decision, isSigned: boolean): ToolVerdict {
  const { id, verdict, effect, modifiedArgs, approvalId } = decision;
  const tool = name.slice(0, 100);
  if (waits(decision)) {
    const text = `Tool ${tool} waits for the approval ${approvalId ?? id} of a person. Ask again when it is decided.`;
    return { kind: 'block', text };
  }
  if (verdict === 'BLOCK') {
    return { kind: 'block', text: `Tool ${tool} was blocked: ${describeDecision(decision)}` };
  }
  if (effect !== 'modify' || modifiedArgs === undefined) return { kind: 'allow' };
  if (!isSigned) return { kind: 'change', args: modifiedArgs };
  const why = 'a rule changes its arguments, which is not possible beside a signature of the provider';
  return { kind: 'block', text: `Tool ${tool} was blocked: ${describeDecision({ message: why, id })}` };
}
