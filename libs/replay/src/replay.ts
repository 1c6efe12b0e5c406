import {
  type AgentEvent,
  type Decision,
  type DecisionRequest,
  derivedId,
  type EventBatch,
  type GuardrailRule,
  type Trigger,
} from '@agentlens/contracts';
import {
  type ActiveRule,
  type AgentFacts,
  activate,
  CallFactsStore,
  claimOf,
  DecisionBook,
  decide,
  type FactNeeds,
  factsNeeded,
  fold,
  identityOf,
  isInForce,
  planBatch,
  RuleBook,
  type Ruling,
} from '@agentlens/guardrails';
import { createMemoryState } from '@agentlens/state/memory';

/** What is known of a call beside the question itself. */
interface CallContext {
  readonly agent?: AgentFacts;
  /** Ids of rules whose approval of this call stands. */
  readonly approved?: ReadonlySet<string>;
}

/**
 * Rules over what happens, in virtual time: the evaluator's own code over stores in memory. Orders, breakers and budgets
 * are not asked. Rules that are measured each minute never fire: what they measure is not made of events.
 */
export class Replay {
  readonly #rules: RuleBook;
  readonly #decisions: DecisionBook;
  readonly #state;
  readonly #facts: CallFactsStore;
  #nowMs: number;
  #asked = 0;

  /** @throws Error naming a rule that cannot be evaluated */
  constructor(tenantId: string, rules: readonly GuardrailRule[], startMs: number) {
    this.#nowMs = startMs;
    this.#state = createMemoryState({ clock: { now: () => this.#nowMs } });
    this.#facts = new CallFactsStore(this.#state.calls, this.#state.windows);
    const active = rules.filter(isInForce).map(activeRule);
    this.#rules = RuleBook.EMPTY.withTenant(tenantId, active);
    this.#decisions = DecisionBook.EMPTY.withTenant(tenantId, active);
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  /** Time never goes back: windows and cooldowns would not know what to do. */
  advance(ms: number): void {
    this.#nowMs += Math.max(0, ms);
  }

  /** The triggers that these events cause as one batch that arrives now, in their order. */
  async happen(
    batch: Omit<EventBatch, 'receivedAt' | 'events'> & { readonly events: AgentEvent[] },
  ): Promise<Trigger[]> {
    const receivedAt = new Date(this.#nowMs).toISOString();
    const triggers: Trigger[] = [];
    for (const plan of planBatch(this.#rules, { ...batch, receivedAt })) {
      const { candidates } = fold(plan, await this.#state.windows.advance(plan.request));
      for (const { trigger } of candidates) if (await this.#admitted(trigger)) triggers.push(trigger);
    }
    return triggers;
  }

  /** What the rules say of a call now. An allowed call counts for later ones, a refused one does not. */
  async ask(request: DecisionRequest, { agent, approved }: CallContext = {}): Promise<Ruling> {
    const identity = identityOf(request, derivedId(this.#nowMs, 'question', this.#asked++));
    const matching = this.#decisions.matching(request);
    const needs = factsNeeded(matching, request, this.#decisions.counting(request));
    const { argsHash, resultHash } = identity;
    const facts = {
      ...{ needs, argsHash },
      ...(resultHash === undefined ? {} : { resultHash }),
      ...(needs.history ? { history: await this.#facts.history(request, identity) } : {}),
      ...(needs.series.length > 0 ? { totals: await this.#facts.totals(request, needs, identity) } : {}),
      ...(agent === undefined ? {} : { agent }),
      ...(approved === undefined ? {} : { approved }),
    };
    const ruling = decide(matching, request, facts, this.#nowMs);
    await this.#note(request, needs, identity, ruling);
    return ruling;
  }

  async #admitted(trigger: Trigger): Promise<boolean> {
    const claim = claimOf(trigger);
    return claim === null || this.#state.cooldowns.claim(claim);
  }

  /** A call that waits for a human stays as it was asked: it comes again under the same name. */
  async #note(
    request: DecisionRequest,
    needs: FactNeeds,
    identity: ReturnType<typeof identityOf>,
    { effect, modifiedArgs }: Ruling,
  ): Promise<void> {
    if (effect === 'ask') return;
    if (isAllowed(effect)) await this.#facts.allowed(request, needs, identity, modifiedArgs);
    else await this.#facts.refused(request, needs, identity);
  }
}

function isAllowed(effect: Decision['effect']): boolean {
  return effect === 'allow' || effect === 'modify';
}

function activeRule(rule: GuardrailRule): ActiveRule {
  const active = activate(rule);
  if (active.ok) return active.value;
  throw new Error(`rule "${rule.name}" cannot be evaluated: ${active.reason}`);
}
