import { type Decision, type DecisionRequest, timeOrderedId } from '@agentlens/contracts';
import { identityOf } from '@agentlens/guardrails';
import { BackgroundWork } from '@agentlens/messaging';
import { decisionOf, keptArguments } from '@agentlens/platform';
import { runStages, type Stage, together, untilDone } from '../stages.ts';
import { spendApproval } from './approvals.ts';
import { askBudgets, findBudgets, reservation, spentBudget } from './budget-stages.ts';
import { type Call, callOf, type DecisionPorts, forEachCaller } from './call.ts';
import { gatherFacts, labels, settle } from './fact-stages.ts';
import { askBreaker, breaker, orders } from './lockdown-stages.ts';
import { approval, matchRules, rules } from './rule-stages.ts';

/** The decision about a call. Stages run in this order; a block ends the stages of its list. */
function stagesOf(ports: DecisionPorts, background: BackgroundWork): readonly Stage<Call>[] {
  return [
    orders(ports),
    findBudgets(ports),
    matchRules(ports),
    forEachCaller([
      together([askBreaker(ports), askBudgets(ports), gatherFacts(ports)]),
      breaker,
      untilDone([rules, approval(ports)]),
      spentBudget(ports),
      reservation(ports),
    ]),
    labels(ports),
    settle(ports, background),
  ];
}

/**
 * Decides whether a call may happen. Always answers within the question's deadline: if data is not available in time,
 * each rule allows or blocks as configured, and the decision reports a bypass.
 */
export class DecisionPipeline {
  readonly #ports: DecisionPorts;
  readonly #background = new BackgroundWork();
  readonly #stages: readonly Stage<Call>[];

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
    await runStages(this.#stages, call);
    await spent;
    if (call.answer === undefined) throw new Error('no stage answered the question');
    const decision = decisionOf(request, identity, nowMs, call.answer, call.bypasses, performance.now() - startedAtMs);
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
