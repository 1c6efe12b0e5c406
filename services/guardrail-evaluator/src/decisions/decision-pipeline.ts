import { type Decision, type DecisionRequest, timeOrderedId } from '@agentlens/contracts';
import { identityOf } from '@agentlens/guardrails';
import { BackgroundWork } from '@agentlens/messaging';
import { decisionOf, keptArguments, runStages } from '@agentlens/platform';
import { spendApproval } from './approvals.ts';
import { askBudgets, findBudgets, judgeBudgets, reserveBudgets } from './budget-stages.ts';
import { type CallStage, callOf, type DecisionPorts, forEachCaller, together, untilAnswered } from './call.ts';
import { gatherFacts, labelTree, noteOutcome } from './fact-stages.ts';
import { askBreaker, checkOrders, judgeBreaker } from './lockdown-stages.ts';
import { applyRuling, evaluateRules, matchRules } from './rule-stages.ts';

/** The decision about a call: its stages, in order. A stage that returns an answer ends its list. */
function stagesOf(ports: DecisionPorts, background: BackgroundWork): readonly CallStage[] {
  return [
    checkOrders(ports),
    findBudgets(ports),
    matchRules(ports),
    forEachCaller([
      together([askBreaker(ports), askBudgets(ports), gatherFacts(ports)]),
      judgeBreaker,
      untilAnswered([evaluateRules, applyRuling(ports)]),
      judgeBudgets(ports),
      reserveBudgets(ports),
    ]),
    labelTree(ports),
    noteOutcome(ports, background),
  ];
}

/**
 * Decides whether a call may happen. Always answers within the question's deadline: if data is not available in time,
 * each rule allows or blocks as configured, and the decision reports a bypass.
 */
export class DecisionPipeline {
  readonly #ports: DecisionPorts;
  readonly #background = new BackgroundWork();
  readonly #stages: readonly CallStage[];

  constructor(ports: DecisionPorts) {
    this.#ports = ports;
    this.#stages = stagesOf(ports, this.#background);
  }

  async decide(request: DecisionRequest): Promise<Decision> {
    const startedAtMs = performance.now();
    const { clock, ended, metrics, publisher, rules: book } = this.#ports;
    const nowMs = clock.now();
    const identity = identityOf(request, timeOrderedId(nowMs));
    // Awaited before the answer is sent, so that the agent's next question sees it.
    const spent =
      request.phase === 'tool.after' && book.decisions.asksPeople(request.tenantId)
        ? spendApproval(ended, request, identity)
        : undefined;
    const call = callOf(request, identity, nowMs);
    const answer = (await runStages(this.#stages, call)) ?? call.answer;
    await spent;
    if (answer === undefined) throw new Error('no stage answered the question');
    const decision = decisionOf(request, identity, nowMs, answer, call.bypasses, performance.now() - startedAtMs);
    metrics.decided(decision);
    const decider = { by: 'evaluator', ...request.because } as const;
    publisher.offer({ ...decision, decider, ...keptArguments(request) });
    return decision;
  }

  /** Waits for notes that are written after answers. */
  async drain(): Promise<void> {
    await this.#background.ended();
  }
}
