import { type AskReason, type Budget, type DecisionRequest, hasHappened } from '@agentlens/contracts';
import { usageOfQuestion } from '../breaker/reported-usage.ts';
import { payingScope, spenderOf } from '../budgets/scope-of-budget.ts';
import type { BreakerRef } from '../ports/breaker-store.ts';
import type { CallIdentity } from './call-identity.ts';
import { decide, type Ruling } from './decide.ts';
import type { DecisionBook } from './decision-book.ts';
import type { DecisionRule } from './decision-rule.ts';
import type { ConditionNeeds, FactNeeds } from './facts.ts';
import { factsNeeded } from './facts-needed.ts';
import { looksAtAgentTags } from './selectors.ts';

type CallHash = Pick<CallIdentity, 'argsHash'>;

/** Copy of what the evaluator decides by for one tenant. */
export interface KnownBook {
  readonly version: string;
  readonly rules: DecisionBook;
  readonly budgets: readonly Pick<Budget, 'enabled' | 'scope' | 'scopeId'>[];
  /** Time of the evaluator minus time of this process. */
  readonly clockOffsetMs: number;
}

/** What a gateway knows when a question arrives. */
export interface GatewayKnowledge {
  /** True if the evaluator must be asked about every call of the tenant. */
  readonly asksAlways: boolean;
  readonly book: KnownBook | undefined;
  /** False if the book may be older than what the evaluator decides by. */
  readonly isFresh: boolean;
  /** True if an order pauses or kills the run, its agent or its tenant. */
  readonly isOrdered: boolean;
  /** True if the evaluator recently checked the breakers of this run and agent. */
  readonly isRunKnown: boolean;
  /**
   * Returns true if a breaker is open or may open with the next call. That of a run tree, if this is so for any tree of
   * the tenant: the evaluator may know of more ancestors.
   */
  isSuspect(breaker: BreakerRef): boolean;
}

/** `ordered`: the standing order decides. */
export type LocalAnswer =
  | { readonly ask: AskReason; readonly forRule?: string | undefined }
  | { readonly ruling: Ruling }
  | { readonly ordered: true };

/** Maximum number of rules that a gateway evaluates for a call, because each may use its free steps. */
const MAX_RULES = 200;
/** Maximum difference between the clocks of gateway and evaluator. */
const MAX_CLOCK_OFFSET_MS = 1_000;

/** A question with everything that its answer depends on. Rules are found and evaluated on first use. */
class LocalQuestion {
  readonly #identify: () => CallHash;
  readonly #nowMs: number;
  #matching: readonly DecisionRule[] | undefined;
  #needs: FactNeeds | undefined;
  #looksBack: boolean | undefined;
  #ruling: Ruling | undefined;
  #exceeds = false;

  constructor(
    readonly known: GatewayKnowledge,
    readonly book: KnownBook,
    readonly request: DecisionRequest,
    identify: () => CallHash,
    nowMs: number,
  ) {
    this.#identify = identify;
    this.#nowMs = nowMs;
  }

  get matching(): readonly DecisionRule[] {
    this.#matching ??= this.book.rules.matching(this.request);
    return this.#matching;
  }

  /** The facts that the evaluator would fetch, for the rules of this call and those that count it. */
  get needs(): FactNeeds {
    this.#needs ??= factsNeeded(this.matching, this.request, this.book.rules.counting(this.request));
    return this.#needs;
  }

  /** The ruling without any fact that has to be fetched. */
  get ruling(): Ruling {
    if (this.#ruling !== undefined) return this.#ruling;
    // A result is only compared with those of earlier calls, which are not known here.
    const facts = { needs: this.needs, argsHash: this.#identify().argsHash };
    // The evaluator bounds expensive rules per tenant, which only one process can do.
    const free = {
      take: () => {
        this.#exceeds = true;
        return false;
      },
    };
    this.#ruling = decide(this.matching, this.request, facts, this.#nowMs, free);
    return this.#ruling;
  }

  /** True if a rule costs more steps than are free, or there are too many rules. */
  get exceedsSteps(): boolean {
    if (this.matching.length > MAX_RULES) return true;
    void this.ruling;
    return this.#exceeds;
  }

  /** The first rule with such needs: one that applies to the call, or else one that counts it. */
  ruleThatNeeds(test: (needs: ConditionNeeds) => boolean): string | undefined {
    const involved = [...this.matching, ...this.book.rules.counting(this.request)];
    return involved.find((rule) => test(rule.needs(this.request)))?.id;
  }

  /** True if a rule that applies to the call looks at earlier calls. */
  get looksBack(): boolean {
    this.#looksBack ??= this.matching.some((rule) => readsHistory(rule.needs(this.request)));
    return this.#looksBack;
  }

  get paysFromBudget(): boolean {
    const { sessionId, phase } = this.request;
    if (hasHappened(phase)) return false;
    const spender = spenderOf(this.request);
    return this.book.budgets.some((budget) => {
      // The session of a run may be known to the evaluator only.
      if (budget.enabled && budget.scope === 'session' && sessionId === undefined) return true;
      return payingScope(budget, spender) !== undefined;
    });
  }

  get hasSuspectBreaker(): boolean {
    const { agentId, runId } = this.request;
    return (
      this.known.isSuspect({ scope: 'run', scopeId: runId }) ||
      this.known.isSuspect({ scope: 'agent', scopeId: agentId }) ||
      this.known.isSuspect({ scope: 'tree', scopeId: runId })
    );
  }
}

interface MustAsk {
  readonly reason: AskReason;
  /** True if it also holds for calls that an order stops. Budgets, breakers and rules are not checked for those. */
  readonly evenIfOrdered?: boolean;
  applies(question: LocalQuestion): boolean;
  /** The rule because of which it applies. */
  forRule?(question: LocalQuestion): string | undefined;
}

function readsHistory({ history, histories = [] }: Pick<ConditionNeeds, 'history' | 'histories'>): boolean {
  return history === true || histories.length > 0;
}

function usesLabels({ labels }: { readonly labels?: object }): boolean {
  return Object.values(labels ?? {}).some((use) => (Array.isArray(use) ? use.length > 0 : use === true));
}

/**
 * When a gateway must ask. For every other call nothing is read or written besides the book, so that the gateway's
 * answer is the evaluator's. The order affects only which reason is counted.
 */
export const MUST_ASK = {
  setting: { reason: 'setting', evenIfOrdered: true, applies: ({ known }) => known.asksAlways },
  stale: { reason: 'stale', evenIfOrdered: true, applies: ({ known }) => !known.isFresh },
  // The result of a call uses up its approval.
  spendsApproval: {
    reason: 'approval',
    evenIfOrdered: true,
    applies: ({ request, book }) => request.phase === 'tool.after' && book.rules.asksPeople(request.tenantId),
  },
  // Two callers are judged, and their rulings combined.
  otherIdentity: {
    reason: 'other_identity',
    evenIfOrdered: true,
    applies: ({ request }) => request.startedAs !== undefined,
  },
  // A model call starts an iteration, which counts for breakers.
  modelCall: { reason: 'model_call', applies: ({ request }) => request.phase === 'llm.before' },
  usage: { reason: 'usage', applies: ({ request }) => usageOfQuestion(request) !== null },
  budget: { reason: 'budget', applies: (question) => question.paysFromBudget },
  breaker: { reason: 'breaker', applies: (question) => question.hasSuspectBreaker },
  first: { reason: 'first', applies: ({ known }) => !known.isRunKnown },
  agentTags: {
    reason: 'needs_state',
    applies: ({ needs }) => needs.agent,
    forRule: ({ matching }) => matching.find(({ selects }) => looksAtAgentTags(selects))?.id,
  },
  history: {
    reason: 'needs_state',
    applies: ({ looksBack }) => looksBack,
    forRule: (question) => question.ruleThatNeeds(readsHistory),
  },
  // Rules that do not apply to the call count it.
  counted: {
    reason: 'counted',
    applies: ({ needs, looksBack }) => readsHistory(needs) && !looksBack,
    forRule: (question) => question.ruleThatNeeds(readsHistory),
  },
  series: {
    reason: 'series',
    applies: ({ needs }) => needs.series.length > 0,
    forRule: (question) =>
      question.ruleThatNeeds(({ series = [], additions = [] }) => series.length + additions.length > 0),
  },
  labels: {
    reason: 'labels',
    applies: ({ needs }) => usesLabels(needs),
    forRule: ({ matching, needs: { labels }, request }) =>
      (
        matching.find((rule) => rule.needs(request).labels !== undefined) ??
        [...(labels?.sets ?? []), ...(labels?.setsIfDenied ?? [])][0]?.rule
      )?.id,
  },
  clock: {
    reason: 'clock',
    applies: ({ book, matching }) => matching.length > 0 && Math.abs(book.clockOffsetMs) > MAX_CLOCK_OFFSET_MS,
  },
  steps: { reason: 'steps', applies: (question) => question.exceedsSteps },
  asksPeople: {
    reason: 'approval',
    applies: ({ ruling }) => ruling.effect === 'ask',
    forRule: ({ ruling }) => ruling.ask?.ruleId,
  },
} as const satisfies Record<string, MustAsk>;

/**
 * Decides a call from what a gateway knows: returns the evaluator's answer, or why the evaluator must be asked.
 *
 * @param identify called once, only if the rules are evaluated
 * @param mustAsk the conditions; a test removes them one by one
 */
export function locally(
  known: GatewayKnowledge,
  request: DecisionRequest,
  identify: () => CallHash,
  nowMs: number,
  mustAsk: readonly MustAsk[] = Object.values(MUST_ASK),
): LocalAnswer {
  if (known.book === undefined) return { ask: known.asksAlways ? 'setting' : 'stale' };
  const question = new LocalQuestion(known, known.book, request, identify, nowMs);
  const asks = mustAsk.find((one) => (!known.isOrdered || one.evenIfOrdered === true) && one.applies(question));
  if (asks !== undefined) return { ask: asks.reason, forRule: asks.forRule?.(question) };
  return known.isOrdered ? { ordered: true } : { ruling: question.ruling };
}
