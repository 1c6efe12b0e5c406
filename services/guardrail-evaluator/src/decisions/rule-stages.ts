import type { Alert } from '@agentlens/contracts';
import {
  type Ask,
  CALL_STEPS,
  callAllowance,
  type DecisionRule,
  decide,
  factsNeeded,
  type Ruling,
  type StepAllowance,
} from '@agentlens/guardrails';
import { beyondEffect, type DecisionOutcome, ruledOutcome } from '@agentlens/platform';
import { BoundedMap, type Bucket, takeFrom } from '@agentlens/state';
import { resolveApproval } from './approvals.ts';
import {
  type Answer,
  blockedBy,
  type CallStage,
  type DecisionPorts,
  logsFailure,
  type Question,
  type QuestionStage,
} from './call.ts';

/** Maximum number of rules that can each require an approval of one call. */
const MAX_APPROVALS = 5;

/** Finds the rules that match each caller, and the facts that they need. All budgets are charged with the last caller. */
export function matchRules({ rules, steps }: Pick<DecisionPorts, 'rules' | 'steps'>): CallStage {
  return {
    run(call) {
      const { decisions } = rules;
      call.questions = call.callers.map((request, at): Question => {
        const matching = decisions.matching(request);
        const needs = factsNeeded(matching, request, decisions.counting(request));
        return {
          call,
          request,
          matching,
          needs,
          allowance: steps.ofCall(request.tenantId),
          budgets: at === call.callers.length - 1 ? call.budgets : [],
          breaker: { allowed: true },
          spentBudget: null,
          approvalsAsked: 0,
        };
      });
      return undefined;
    },
  };
}

/** Evaluates the rules. A rule for which the call is approved no longer asks. */
export const evaluateRules: QuestionStage = {
  run(question) {
    const { request, matching, facts, allowance, call } = question;
    if (facts === undefined) throw new Error('no facts were gathered');
    const known = { ...facts, approved: new Set(call.approved.keys()) };
    question.ruling = decide(matching, request, known, call.nowMs, allowance);
    return undefined;
  },
};

/**
 * Answers by the ruling. If it requires an approval, requests one; if the call has it, the rules are evaluated again. A
 * call that has no budget left is not shown to a reviewer.
 */
export function applyRuling(ports: Pick<DecisionPorts, 'bus' | 'ended' | 'logger'>): QuestionStage {
  const { bus, ended } = ports;
  const resolve = ({ request, call }: Question, ask: Ask) => {
    const { identity, deadline } = call;
    const resolved = async () => {
      await ended.caughtUp(request.tenantId, Math.max(1, Math.floor(deadline.leftMs)));
      return { answer: await resolveApproval(bus, request, ask, identity, deadline) };
    };
    return deadline.within(resolved(), logsFailure(ports, request, 'requesting an approval failed'));
  };
  const review = async (question: Question, ruling: Ruling, ask: Ask, rule: DecisionRule) => {
    const { approved, bypasses } = question.call;
    question.approvalsAsked += 1;
    const resolved = await resolve(question, ask);
    if (typeof resolved === 'string') {
      const did = rule.onUnavailable;
      bypasses.push({ ruleId: rule.id, why: resolved, did });
      if (did === 'block') return answered(question, ruling, unasked(rule));
      approved.set(rule.id, '');
      return undefined;
    }
    const { answer } = resolved;
    if (answer === 'refused') return answered(question, ruling, unasked(rule));
    const refusal = unapproved(ruling, rule, answer);
    if (refusal !== null) return answered(question, ruling, refusal);
    approved.set(rule.id, answer.id);
    return undefined;
  };
  return {
    run(question) {
      const { ruling, spentBudget, approvalsAsked } = question;
      if (ruling === undefined) throw new Error('no rules were evaluated');
      const { ask, finalRule } = ruling;
      if (ask === undefined || finalRule === undefined) return answered(question, ruling, ruledOutcome(ruling));
      if (spentBudget !== null || approvalsAsked === MAX_APPROVALS)
        return answered(question, ruling, unasked(finalRule));
      return review(question, ruling, ask, finalRule);
    },
  };
}

/** The answer to the question. An allowed call names its last approval. */
function answered(question: Question, ruling: Ruling, outcome: DecisionOutcome): Answer {
  const { approved, bypasses } = question.call;
  bypasses.push(...ruling.bypasses);
  const approvalId = [...approved.values()].findLast((id) => id !== '');
  const named = outcome.verdict === 'BLOCK' || approvalId === undefined ? outcome : { ...outcome, approvalId };
  return { outcome: named, ruling };
}

const REFUSALS = {
  denied: 'was denied',
  expired: 'was not decided in time',
  cancelled: 'was cancelled',
} as const;

/** The outcome if the reviewer did not approve the call, or has not decided yet; null if the call is approved. */
function unapproved(
  { effect, wouldBe, message }: Ruling,
  { id, name }: DecisionRule,
  { id: approvalId, status, reason }: Alert,
): DecisionOutcome | null {
  if (status === 'approved') return null;
  const common = {
    ...{ approvalId, finalRuleId: id, effect, reason: 'approval' as const },
    ...beyondEffect(effect, wouldBe),
  };
  if (status === 'pending' || status === 'acknowledged') {
    const cause = { kind: 'HITL_PENDING', approvalId, ruleId: id } as const;
    return { ...common, verdict: 'BLOCK', control: 'TERMINATE', cause, message };
  }
  const why = reason ? `: ${reason}` : '';
  const text = `The approval of this call ${REFUSALS[status]}, by rule "${name}"${why}`;
  return { ...blockedBy(id, text), ...common };
}

/** The outcome if no approval could be requested. */
function unasked({ id, name }: DecisionRule): DecisionOutcome {
  const message = `This call needs approval by rule "${name}", and no approval could be requested`;
  return { ...blockedBy(id, message), reason: 'approval' };
}

/** Evaluation steps per second for expensive rules of one tenant. A core does about 20 million. */
const STEPS_PER_SECOND = 2_000_000;
/** Maximum number of tenants tracked. Evicting the least recently used tenant at worst refills its bucket. */
const MAX_TENANTS = 10_000;

/**
 * Bounds what expensive rules of one tenant cost the other tenants in this process. Over the bound, such rules are
 * `unavailable`, while the tenant's cheap rules (`FREE_STEPS`) work as before.
 */
export class TenantSteps {
  readonly #buckets = new BoundedMap<Bucket>(MAX_TENANTS);
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** The allowance of one call, over all rounds in which its rules are evaluated. */
  ofCall(tenantId: string): StepAllowance {
    const call = callAllowance();
    return { take: (steps) => call.take(steps) && this.#take(tenantId, steps) };
  }

  #take(tenantId: string, steps: number): boolean {
    const known = this.#buckets.get(tenantId);
    const { bucket, answer } = takeFrom(known, steps, STEPS_PER_SECOND, this.#now(), CALL_STEPS);
    this.#buckets.set(tenantId, bucket);
    return answer.allowed;
  }
}
