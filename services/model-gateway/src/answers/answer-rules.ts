import type { Decision, DecisionRequest } from '@agentlens/contracts';
import {
  type DecisionGateway,
  type KnownRuns,
  type LocalDecisionPath,
  placeRun,
  type TreeLimiter,
} from '@agentlens/decisions';
import type { MeteredAnswer } from '@agentlens/model-api';
import { type AskingAgain, askUntilDecided } from '../ask-until-decided.ts';
import { describeCall } from '../describe-call.ts';
import { describeDecision, wasUndecided } from '../describe-decision.ts';
import type { GatewayCall } from '../gateway-call.ts';
import type { StandingRefusals } from '../standing-refusals.ts';
import { Stopped } from '../stopped.ts';

const DEADLINE_MS = 1_000;
/** How long a held answer waits while it cannot be decided, such as in a peak of load. */
const UNDECIDED_MS = 30_000;
const MAX_TOOLS = 100;

interface AnswerRulesDependencies extends AskingAgain {
  readonly decisions: Pick<DecisionGateway, 'decide'>;
  readonly path: Pick<LocalDecisionPath, 'concerns'>;
  readonly runs: Pick<KnownRuns, 'completed'>;
  readonly trees: Pick<TreeLimiter, 'running'>;
  readonly standing: Pick<StandingRefusals, 'noteStop'>;
}

/**
 * Decides complete answers by the rules of `llm.after`. An answer that is no stream is held and can be refused as a
 * whole. A stream has reached the client by then, so that the next calls of its run are refused.
 */
export class AnswerRules {
  readonly #parts: AnswerRulesDependencies;

  constructor(parts: AnswerRulesDependencies) {
    this.#parts = parts;
  }

  /** Whether a rule decides answers of the call. True if that is not known. */
  concern({ tenantId, agentId }: GatewayCall): boolean {
    return this.#parts.path.concerns({ tenantId, agentId, phase: 'llm.after', tool: undefined }) !== false;
  }

  /**
   * Requires that the client may get an answer that it does not have yet.
   *
   * @throws Stopped if it may not; what aborts the signal
   */
  async require(call: GatewayCall, answer: MeteredAnswer, signal: AbortSignal): Promise<void> {
    if (!this.concern(call)) return;
    const waitsMs = (decision: Decision) => (wasUndecided(decision) ? UNDECIDED_MS : 0);
    const decision = await askUntilDecided(this.#parts, () => this.#ask(call, answer), waitsMs, signal);
    signal.throwIfAborted();
    if (!stops(decision)) return;
    const message = `AgentLens refused this answer: ${describeDecision(decision)}`;
    if (decision.control === 'TERMINATE') await this.#stand(call, decision, message);
    const code = decision.control === 'TERMINATE' ? 'agentlens_stopped' : 'agentlens_blocked';
    throw new Stopped({ kind: 'policy', code, message });
  }

  /** Decides an answer that the client has. What could not be decided is not held against the run. */
  async note(call: GatewayCall, answer: MeteredAnswer): Promise<void> {
    if (!this.concern(call)) return;
    const decision = await this.#ask(call, answer);
    if (!stops(decision) || wasUndecided(decision)) return;
    await this.#stand(call, decision, `AgentLens stopped this run after an answer: ${describeDecision(decision)}`);
  }

  /** Orders stand by themselves. */
  async #stand({ tenantId, runId }: GatewayCall, { reason }: Decision, message: string): Promise<void> {
    if (reason === 'rule') await this.#parts.standing.noteStop(tenantId, runId, message);
  }

  async #ask(call: GatewayCall, answer: MeteredAnswer): Promise<Decision> {
    const { decisions, clock } = this.#parts;
    const { decisionFailMode: failMode = 'allow', decisionPath: path, treeLimits } = call.caller;
    const written: DecisionRequest = {
      ...describeCall(call),
      phase: 'llm.after',
      result: describeAnswer(answer),
      receivedAt: new Date(clock.now()).toISOString(),
      deadlineMs: DEADLINE_MS,
    };
    const question = await placeRun(this.#parts, written, treeLimits);
    return (await decisions.decide(question, { failMode, path })).decision;
  }
}

/** What rules can read of an answer. */
function describeAnswer({ finishReason, model, usage, toolCalls, isComplete }: MeteredAnswer) {
  return {
    finishReason: finishReason ?? null,
    model: model ?? null,
    inputTokens: usage.inputTokens ?? null,
    outputTokens: usage.outputTokens ?? null,
    tools: toolCalls.slice(0, MAX_TOOLS),
    isComplete,
  };
}

/** The answer is paid, so that what is spent or counted does not withhold it: that concerns the next call. */
function stops({ verdict, reason }: Decision): boolean {
  return verdict === 'BLOCK' && reason !== 'budget' && reason !== 'breaker';
}
