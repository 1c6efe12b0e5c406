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
  type Unavailable,
} from '@agentlens/guardrails';
import { beyondEffect, type DecisionOutcome, ruledOutcome } from '@agentlens/platform';
import { BoundedMap, type Bucket, takeFrom } from '@agentlens/state';
import { resolveApproval } from './approvals.ts';
import {
  type Answer,
  blockedBy,
  type Call,
  type Charged,
  type DecisionPorts,
  logsFailure,
  type Question,
  type Questions,
  type Ruled,
  type Unlocked,
} from './call.ts';

/** Maximum number of rules that can each require an approval of one call. */
const MAX_APPROVALS = 5;

/** Finds the rules that match each caller, and the facts that they need. All budgets are charged with the last caller. */
export function matchRules(
  { rules, steps }: Pick<DecisionPorts, 'rules' | 'steps'>,
  call: Call,
  { charged }: Charged,
): Questions {
  const { decisions } = rules;
  const ask = (request: Question['request'], budgets: Question['budgets']): Question => {
    const matching = decisions.matching(request);
    const needs = factsNeeded(matching, request, decisions.counting(request));
    return { call, request, matching, needs, allowance: steps.ofCall(request.tenantId), budgets };
  };
  const [first, ...others] = call.callers;
  if (others.length === 0) return [ask(first, charged)];
  return [ask(first, []), ...others.map((request, at) => ask(request, at === others.length - 1 ? charged : []))];
}

/**
 * Evaluates the rules. If they require an approval, requests one; if the call has it, the rules are evaluated again
 * without the rule that asked. A call that has no budget left is not shown to a reviewer.
 */
export async function applyRules(
  ports: Pick<DecisionPorts, 'bus' | 'ended' | 'logger'>,
  question: Question,
  { facts, spentBudget }: Unlocked,
): Promise<Ruled> {
  const { request, matching, allowance, call } = question;
  for (let approvals = 0; ; approvals++) {
    const known = { ...facts, approved: new Set(call.approved.keys()) };
    const ruling = decide(matching, request, known, call.nowMs, allowance);
    const { ask, finalRule } = ruling;
    const refusal =
      ask === undefined || finalRule === undefined
        ? ruledOutcome(ruling)
        : spentBudget !== null || approvals === MAX_APPROVALS
          ? refuseUnasked(finalRule)
          : await review(ports, question, ruling, ask, finalRule);
    if (refusal !== undefined) return { ruled: answer(question, ruling, refusal), spentBudget };
  }
}

/** Has a person review the call. Returns undefined if it is approved, and otherwise its outcome. */
async function review(
  ports: Pick<DecisionPorts, 'bus' | 'ended' | 'logger'>,
  question: Question,
  ruling: Ruling,
  ask: Ask,
  rule: DecisionRule,
): Promise<DecisionOutcome | undefined> {
  const { approved, bypasses } = question.call;
  const resolved = await resolve(ports, question, ask);
  const asking = [rule, ...ask.also];
  if (typeof resolved === 'string') {
    for (const { id, onUnavailable: did } of asking) bypasses.push({ ruleId: id, why: resolved, did });
    const refusing = asking.find(({ onUnavailable }) => onUnavailable === 'block');
    if (refusing !== undefined) return refuseUnasked(refusing);
    for (const { id } of asking) approved.set(id, '');
    return undefined;
  }
  if (resolved.approval === 'refused') return refuseUnasked(rule);
  const refusal = refuseUnapproved(ruling, rule, resolved.approval);
  if (refusal !== null) return refusal;
  for (const { id } of findCovered(rule, ask, resolved.approval)) approved.set(id, resolved.approval.id);
  return undefined;
}

/** The rules that the approval names. A rule that asks since then has to be approved by itself. */
function findCovered(rule: DecisionRule, { also }: Ask, { approval }: Alert): readonly DecisionRule[] {
  const named = approval?.also ?? [];
  const isNamed = ({ id, meaningVersion }: DecisionRule) =>
    named.some(({ ruleId, ruleVersion }) => ruleId === id && ruleVersion === meaningVersion);
  return [rule, ...also.filter(isNamed)];
}

async function resolve(
  ports: Pick<DecisionPorts, 'bus' | 'ended' | 'logger'>,
  { request, call: { identity, deadline } }: Question,
  ask: Ask,
): Promise<{ readonly approval: Alert | 'refused' } | Unavailable> {
  const { bus, ended } = ports;
  const requested = async () => {
    await ended.caughtUp(request.tenantId, Math.max(1, Math.floor(deadline.leftMs)));
    return { approval: await resolveApproval(bus, request, ask, identity, deadline) };
  };
  return deadline.within(requested(), logsFailure(ports, request, 'requesting an approval failed'));
}

/** The answer to the question. An allowed call names its last approval. */
function answer(question: Question, ruling: Ruling, outcome: DecisionOutcome): Answer {
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
function refuseUnapproved(
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
    const waiting = `${message}. The call waits for a person (approval ${approvalId}). Do not repeat it; tell the user, and go on with other work.`;
    return { ...common, verdict: 'BLOCK', control: 'CONTINUE', cause, message: waiting };
  }
  const why = reason ? `: ${reason}` : '';
  const text = `The approval of this call ${REFUSALS[status]}, by rule "${name}"${why}`;
  return { ...blockedBy(id, text), ...common };
}

/** The outcome if no approval could be requested. */
function refuseUnasked({ id, name }: DecisionRule): DecisionOutcome {
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
