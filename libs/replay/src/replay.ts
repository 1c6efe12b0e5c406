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
  type IncompleteLabels,
  identityOf,
  isInForce,
  type LabelStore,
  planBatch,
  RuleBook,
  type Ruling,
  type RunLabels,
} from '@agentlens/guardrails';
import { createMemoryState } from '@agentlens/state/memory';

/** Context of a call that is not part of the question. */
export interface CallContext {
  readonly agent?: AgentFacts;
  /** Ids of rules for which this call is approved. */
  readonly approved?: ReadonlySet<string>;
  /** SHA-256 of the arguments, if they are not here as they were. */
  readonly argsHash?: string;
  /** Whether the call happened; by default, the ruling decides that. */
  readonly allowed?: boolean;
  /** Whether the approval is denied if the call needs one. */
  readonly denied?: boolean;
}

/**
 * Runs rules in virtual time with the evaluator's own code and in-memory stores. Orders, breakers and budgets are not
 * checked. Rules that are measured every minute never fire, because their input does not come from events.
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
    this.#facts = new CallFactsStore(this.#state.calls, this.#state.windows, unrecorded(this.#state.labels));
    const active = rules.filter((rule) => isInForce(rule, startMs)).map(activeRule);
    this.#rules = RuleBook.EMPTY.withTenant(tenantId, active);
    this.#decisions = DecisionBook.EMPTY.withTenant(tenantId, active);
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  /** Advances the clock. Time never goes back, because windows and cooldowns depend on it. */
  advance(ms: number): void {
    this.#nowMs += Math.max(0, ms);
  }

  /** Sets the clock, unless that would move it back. */
  moveTo(nowMs: number): void {
    this.#nowMs = Math.max(this.#nowMs, nowMs);
  }

  /** Processes events as one batch that arrives now and returns the triggers in order. */
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

  /** Decides a call. Allowed calls count for later ones, refused calls do not. */
  async ask(
    request: DecisionRequest,
    { agent, approved, argsHash: given, allowed, denied = false }: CallContext = {},
  ): Promise<Ruling> {
    const made = identityOf(request, derivedId(this.#nowMs, 'question', this.#asked++));
    const identity = given === undefined ? made : { ...made, argsHash: given };
    const matching = this.#decisions.matching(request);
    const needs = factsNeeded(matching, request, this.#decisions.counting(request));
    const { argsHash, resultHash } = identity;
    const clears = needs.labels?.clears ?? [];
    const mayClear = clears.length > 0 && (await this.#facts.endsAllowedCall(request, identity));
    const facts = {
      ...{ needs, argsHash },
      ...(resultHash === undefined ? {} : { resultHash }),
      ...(needs.history ? { history: await this.#facts.history(request, identity) } : {}),
      ...(needs.histories === undefined
        ? {}
        : { histories: await this.#facts.histories(request, needs.histories, identity) }),
      ...(needs.series.length > 0 ? { totals: await this.#facts.totals(request, needs, identity) } : {}),
      ...(needs.labels?.reads === true ? { labels: await this.#facts.labels(request, needs.labels) } : {}),
      ...(agent === undefined ? {} : { agent }),
      ...(approved === undefined ? {} : { approved }),
    };
    const ruling = decide(matching, request, facts, this.#nowMs);
    const proceeds = allowed ?? isAllowed(ruling.effect);
    // A call that waits for approval stays recorded as asked, because it is asked again under the same id.
    const isDenied = denied && ruling.effect === 'ask';
    if (isDenied && needs.labels !== undefined)
      await this.#facts.label(request, { sets: needs.labels.setsIfDenied, clears: [], prints: [] }, identity);
    if (allowed !== undefined || isDenied || ruling.effect !== 'ask')
      await this.#note(request, mayClear ? needs : withoutClears(needs), identity, ruling, proceeds);
    return ruling;
  }

  async #admitted(trigger: Trigger): Promise<boolean> {
    const claim = claimOf(trigger);
    return claim === null || this.#state.cooldowns.claim(claim);
  }

  async #note(
    request: DecisionRequest,
    needs: FactNeeds,
    identity: ReturnType<typeof identityOf>,
    { modifiedArgs }: Ruling,
    proceeds: boolean,
  ): Promise<void> {
    if (!proceeds) {
      await this.#facts.refused(request, needs, identity);
      return;
    }
    if (needs.labels !== undefined) await this.#facts.label(request, needs.labels, identity);
    await this.#facts.allowed(request, needs, identity, modifiedArgs);
  }
}

/** Labels that start empty and are never restored. */
function unrecorded(store: LabelStore): RunLabels {
  const complete = async <T extends object>(tenantId: string, ask: () => Promise<T | IncompleteLabels>): Promise<T> => {
    const answer = await ask();
    if (typeof answer !== 'string') return answer;
    await store.restore(tenantId, (async function* () {})());
    return complete(tenantId, ask);
  };
  return {
    read: (line) => complete(line.tenantId, () => store.read(line)),
    set: async (line, ...labels) => (await complete(line.tenantId, () => store.set(line, ...labels))).rejected,
    clear: (...cleared) => store.clear(...cleared),
    note: (...noted) => store.note(...noted),
    compare: (...compared) => store.compare(...compared),
    salt: async () => 'replay',
  };
}

function isAllowed(effect: Decision['effect']): boolean {
  return effect === 'allow' || effect === 'modify';
}

function activeRule(rule: GuardrailRule): ActiveRule {
  const active = activate(rule);
  if (active.ok) return active.value;
  throw new Error(`rule "${rule.name}" cannot be evaluated: ${active.reason}`);
}

function withoutClears(needs: FactNeeds): FactNeeds {
  return needs.labels === undefined ? needs : { ...needs, labels: { ...needs.labels, clears: [] } };
}
