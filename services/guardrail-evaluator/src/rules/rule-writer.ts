import { type GuardrailRule, type JsonObject, type ProblemDetail, timeOrderedId } from '@agentlens/contracts';
import { type EgressPolicy, refuseAddress } from '@agentlens/egress';
import {
  ACTIONS,
  patternPath,
  readPolicy,
  type ValidatedRule,
  type ValidDraft,
  validateDraft,
  validatePatch,
} from '@agentlens/guardrails';
import type { Clock, SecretBox } from '@agentlens/platform';
import { type OtherRules, overPatternQuota } from './pattern-quota.ts';
import { masked, opened, sealed } from './rule-secrets.ts';
import type { RulesRepository } from './rules.repository.ts';

type Store = Pick<RulesRepository, 'insert' | 'update' | 'markDeleted'>;

/** What a policy import made. */
export interface ImportedPolicy {
  readonly policyId: string;
  readonly rules: GuardrailRule[];
}

const NOT_FOUND: ValidatedRule<never> = { ok: false, problem: { error: 'Guardrail rule not found', status: 404 } };

/** Creates, changes and deletes rules. Refusals are answers; what it answers shows no secret. */
export class RuleWriter {
  readonly #rules: Store;
  readonly #secrets: SecretBox;
  readonly #egress: EgressPolicy;
  readonly #clock: Clock;
  readonly #changed: (tenantId: string) => Promise<unknown>;

  /** @param changed called after each committed change, before it is answered */
  constructor(
    rules: Store,
    secrets: SecretBox,
    egress: EgressPolicy,
    clock: Clock,
    changed: (tenantId: string) => Promise<unknown>,
  ) {
    this.#rules = rules;
    this.#secrets = secrets;
    this.#egress = egress;
    this.#clock = clock;
    this.#changed = changed;
  }

  async create(tenantId: string, body: unknown): Promise<ValidatedRule<GuardrailRule>> {
    const draft = validateDraft(body);
    if (!draft.ok) return draft;
    const refused = this.#refusedAddresses(draft.value);
    if (refused !== null) return refused;
    const rule = newRule(tenantId, draft.value, this.#clock.now());
    const tooMany = await this.#stored([rule]);
    if (tooMany !== null) return tooMany;
    await this.#changed(tenantId);
    return { ok: true, value: masked(rule) };
  }

  /** Stores the rules of a policy as ordinary rules, all of them or none. Every import makes a policy of its own. */
  async importPolicy(tenantId: string, body: unknown): Promise<ValidatedRule<ImportedPolicy>> {
    const now = this.#clock.now();
    const policyId = timeOrderedId(now);
    const drafts = readPolicy(body, policyId);
    if (!drafts.ok) return drafts;
    const rules = drafts.value.map((draft) => newRule(tenantId, draft, now));
    const tooMany = await this.#stored(rules);
    if (tooMany !== null) return tooMany;
    await this.#changed(tenantId);
    return { ok: true, value: { policyId, rules: rules.map(masked) } };
  }

  async update(tenantId: string, ruleId: string, body: unknown): Promise<ValidatedRule<GuardrailRule>> {
    if (!isRuleId(ruleId)) return NOT_FOUND;
    const answer = await this.#rules.update(tenantId, ruleId, (...stored) => this.#changedRule(body, ...stored));
    if (answer?.ok) await this.#changed(tenantId);
    return answer ?? NOT_FOUND;
  }

  async delete(tenantId: string, ruleId: string): Promise<ValidatedRule<{ ok: true }>> {
    if (!isRuleId(ruleId)) return NOT_FOUND;
    const deleted = await this.#rules.markDeleted(tenantId, ruleId, new Date(this.#clock.now()).toISOString());
    if (!deleted) return NOT_FOUND;
    await this.#changed(tenantId);
    return { ok: true, value: { ok: true } };
  }

  /** Null: they are stored. */
  #stored(rules: readonly GuardrailRule[]): Promise<ValidatedRule<never> | null> {
    const refused = (others: OtherRules) => overPatternQuota(rules, others);
    return this.#rules.insert(
      rules.map((rule) => sealed(rule, this.#secrets)),
      refused,
    );
  }

  async #changedRule(
    body: unknown,
    stored: GuardrailRule,
    others: OtherRules,
  ): Promise<{ rule: GuardrailRule | null; answer: ValidatedRule<GuardrailRule> }> {
    const existing = opened(stored, this.#secrets);
    const draft = validatePatch(existing, body);
    if (!draft.ok) return { rule: null, answer: draft };
    const refused = this.#refusedAddresses(draft.value, existing.actionConfig);
    if (refused !== null) return { rule: null, answer: refused };
    const { id, tenantId, createdAt } = existing;
    // Never backwards, whichever instance's clock is behind: the poll goes by it.
    const updatedAt = new Date(Math.max(this.#clock.now(), Date.parse(existing.updatedAt))).toISOString();
    const rule = { ...draft.value, id, tenantId, version: existing.version + 1, createdAt, updatedAt };
    // A rule that had a pattern before takes no further place.
    const tooMany = patternPath(existing) === null ? await overPatternQuota([rule], others) : null;
    if (tooMany !== null) return { rule: null, answer: tooMany };
    return { rule: sealed(rule, this.#secrets), answer: { ok: true, value: masked(rule) } };
  }

  /** Addresses that may not be called. One that was there before is judged when it is called. */
  #refusedAddresses({ actionType, actionConfig }: ValidDraft, before: JsonObject = {}): ValidatedRule<never> | null {
    const details: ProblemDetail[] = [];
    for (const key of ACTIONS.get(actionType)?.addresses ?? []) {
      const address = actionConfig[key];
      if (typeof address !== 'string' || address === before[key]) continue;
      const reason = refuseAddress(address, this.#egress);
      if (reason !== null) details.push({ path: `actionConfig.${key}`, message: reason });
    }
    if (details.length === 0) return null;
    return { ok: false, problem: { error: 'Validation failed', status: 400, details } };
  }
}

function newRule(tenantId: string, draft: ValidDraft, now: number): GuardrailRule {
  const at = new Date(now).toISOString();
  return { ...draft, id: timeOrderedId(now), tenantId, version: 1, createdAt: at, updatedAt: at };
}

/** Anything else was never given out, and some of it Postgres would not even read. */
function isRuleId(text: string): boolean {
  return /^[\x21-\x7e]{1,100}$/.test(text);
}
