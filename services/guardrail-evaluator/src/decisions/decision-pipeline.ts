import { type Decision, type DecisionRequest, timeOrderedId } from '@agentlens/contracts';
import { identityOf } from '@agentlens/guardrails';
import { BackgroundWork } from '@agentlens/messaging';
import { decisionOf, keptCall } from '@agentlens/platform';
import { spendApproval } from './approvals.ts';
import { askBudgets, findBudgets, judgeBudgets, reserveBudgets } from './budget-steps.ts';
import {
  type Answer,
  type Call,
  type Charged,
  type DecisionPorts,
  judgeCallers,
  type Question,
  startCall,
} from './call.ts';
import { gatherFacts, labelTree, noteOutcome } from './fact-steps.ts';
import { askBreaker, checkOrders, judgeBreaker, refuseByBreaker } from './lockdown-steps.ts';
import { applyRules, matchRules } from './rule-steps.ts';
import { Deadline } from './state-circuit.ts';

const GOES_ON: Answer = {
  outcome: { verdict: 'ALLOW', control: 'CONTINUE', effect: 'allow', cause: { kind: 'ALLOW' }, message: '' },
};

/**
 * Decides whether a call may happen. Always answers within the question's deadline: if data is not available in time,
 * each rule allows or blocks as configured, and the decision reports a bypass.
 */
export class DecisionPipeline {
  readonly #ports: DecisionPorts;
  readonly #background = new BackgroundWork();

  constructor(ports: DecisionPorts) {
    this.#ports = ports;
  }

  async decide(request: DecisionRequest): Promise<Decision> {
    const startedAtMs = performance.now();
    const { clock, ended, facts, metrics, publisher, rules: book } = this.#ports;
    const nowMs = clock.now();
    const identity = identityOf(request, timeOrderedId(nowMs));
    // Awaited before the answer is sent, so that the agent's next question sees it.
    const spent =
      request.phase === 'tool.after' && book.decisions.asksPeople(request.tenantId)
        ? spendApproval(ended, request, identity)
        : undefined;
    using deadline = new Deadline(request.deadlineMs);
    const call = startCall(request, identity, nowMs, deadline, facts);
    const answer = await this.#answer(call);
    await spent;
    const decision = decisionOf(request, identity, nowMs, answer, call.bypasses, performance.now() - startedAtMs);
    if (request.grows === true && decision.verdict === 'ALLOW') return decision;
    metrics.decided(decision);
    const decider = { by: 'evaluator', ...request.because } as const;
    publisher.offer({ ...decision, decider, ...keptCall(request) });
    return decision;
  }

  /** The decision about a call, step by step. */
  async #answer(call: Call): Promise<Answer> {
    const ports = this.#ports;
    const ordered = checkOrders(ports, call);
    if (ordered !== undefined) return ordered;
    const charged = await findBudgets(ports, call);
    if (call.request.grows === true) return this.#grow(call, charged);
    const questions = matchRules(ports, call, charged);
    const judged = await judgeCallers(questions, (question) => this.#judge(question));
    const labelled = await labelTree(ports, call, questions, judged);
    noteOutcome(ports, call, labelled, this.#background);
    return labelled.answer;
  }

  /**
   * Whether a model call that runs may go on to its new estimate. Its rules were evaluated when it began; the breakers
   * and budgets have changed since. A refused estimate leaves the earlier reservation as it is.
   */
  async #grow(call: Call, charged: Charged): Promise<Answer> {
    const ports = this.#ports;
    const questions = matchRules(ports, call, charged);
    const question = questions.at(-1) ?? questions[0];
    const refusal = refuseByBreaker(question, await askBreaker(ports, question));
    return refusal ?? reserveBudgets(ports, question, { affordable: GOES_ON });
  }

  /** The question of one caller. */
  async #judge(question: Question): Promise<Answer> {
    const ports = this.#ports;
    const [breaker, spentBudget, facts] = await Promise.all([
      askBreaker(ports, question),
      askBudgets(ports, question),
      gatherFacts(ports, question),
    ]);
    const unlocked = judgeBreaker(question, { breaker, spentBudget, facts });
    if ('outcome' in unlocked) return unlocked;
    const ruled = await applyRules(ports, question, unlocked);
    const affordable = judgeBudgets(ports, ruled);
    if ('outcome' in affordable) return affordable;
    return reserveBudgets(ports, question, affordable);
  }

  /** Waits for notes that are written after answers. */
  async drain(): Promise<void> {
    await this.#background.ended();
  }
}
