import {
  type GuardrailRule,
  type JsonObject,
  otherVersion,
  type RuleChangeAuthor,
  timeOrderedId,
} from '@agentlens/contracts';
import type { EgressPolicy } from '@agentlens/egress';
import {
  draftOf,
  force,
  patternPath,
  readPolicy,
  type ValidatedRule,
  type ValidDraft,
  validateDraft,
  validatePatch,
} from '@agentlens/guardrails';
import type { Clock, SecretBox } from '@agentlens/platform';
import { overPatternQuota, refusedAddresses } from './rule-refusals.ts';
import { type ChangeOrigin, deletion, masked, newRule, nextRule, opened, revisionOf } from './rule-revision.ts';
import type { RuleStore, TenantRules } from './rule-transaction.ts';

/** The result of a policy import. */
export interface ImportedPolicy {
  readonly policyId: string;
  readonly rules: GuardrailRule[];
}

/** The rule to change and its author. `ifVersion`: change it only if it is at this version. */
export interface RuleRef extends RuleChangeAuthor {
  readonly tenantId: string;
  readonly ruleId: string;
  readonly ifVersion?: number | undefined;
  /** Why the rule is changed although a ruleset manages it. */
  readonly override?: string | undefined;
}

const GUARDED: ValidatedRule<never> = {
  ok: false,
  problem: {
    error: 'This rule has a guard, which a promotion checks',
    status: 409,
    hint: 'POST /api/guardrails/:id/promote; with "force": true and a reason it does not require the guard',
  },
};
const NOT_FOUND: ValidatedRule<never> = { ok: false, problem: { error: 'Guardrail rule not found', status: 404 } };

/** Creates, changes and deletes rules. Refusals are returned, not thrown. Returned rules have masked secrets. */
export class RuleWriter {
  readonly #rules: RuleStore;
  readonly #secrets: SecretBox;
  readonly #egress: EgressPolicy;
  readonly #clock: Clock;
  readonly #changed: (tenantId: string) => Promise<unknown>;

  /** @param changed called after each committed change, before the answer */
  constructor(
    rules: RuleStore,
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

  async create(tenantId: string, body: unknown, author: RuleChangeAuthor = {}): Promise<ValidatedRule<GuardrailRule>> {
    const draft = validateDraft(body);
    if (!draft.ok) return draft;
    const refused = this.#refused(draft.value);
    if (refused !== null) return refused;
    const rule = newRule(tenantId, draft.value, this.#clock.now());
    const tooMany = await this.#insert(tenantId, [rule], { ...author, source: 'api' });
    return tooMany ?? { ok: true, value: masked(rule) };
  }

  /** Stores the rules of a policy as ordinary rules, all or none. Every import creates a new policy. */
  async importPolicy(
    tenantId: string,
    body: unknown,
    author: RuleChangeAuthor = {},
  ): Promise<ValidatedRule<ImportedPolicy>> {
    const now = this.#clock.now();
    const policyId = timeOrderedId(now);
    const drafts = readPolicy(body, policyId);
    if (!drafts.ok) return drafts;
    const rules = drafts.value.map((draft) => newRule(tenantId, draft, now));
    const tooMany = await this.#insert(tenantId, rules, { ...author, source: 'import' });
    return tooMany ?? { ok: true, value: { policyId, rules: rules.map(masked) } };
  }

  update(ref: RuleRef, body: unknown): Promise<ValidatedRule<GuardrailRule>> {
    return this.change(ref, async (rules, existing) => {
      const draft = validatePatch(existing, body);
      if (existing.guard !== undefined && draft.ok && force(draft.value) > force(existing)) return GUARDED;
      return this.replace(rules, existing, draft, originOf(ref, 'api'));
    });
  }

  /** Creates a new version with the content of an earlier one. */
  revert(ref: RuleRef, version: number): Promise<ValidatedRule<GuardrailRule>> {
    return this.change(ref, async (rules, existing) => {
      const earlier = await rules.findVersion(ref.ruleId, version);
      if (earlier === null) return noSuchVersion(version);
      const draft = validateDraft(draftOf(opened(earlier, this.#secrets)));
      return this.replace(rules, existing, draft, originOf(ref, 'revert'));
    });
  }

  delete(ref: RuleRef): Promise<ValidatedRule<{ ok: true }>> {
    return this.change(ref, async (rules, opened, existing) => {
      await rules.store([deletion({ existing, opened }, originOf(ref, 'api'), this.#clock.now())]);
      return { ok: true, value: { ok: true } };
    });
  }

  /** Returns null if the rules were stored. */
  async #insert(tenantId: string, added: GuardrailRule[], origin: ChangeOrigin): Promise<ValidatedRule<never> | null> {
    const refused = await this.#rules.change(tenantId, async (rules) => {
      const tooMany = await overPatternQuota(added, () => rules.all());
      if (tooMany === null) await rules.store(added.map((rule) => revisionOf(null, rule, origin, this.#secrets)));
      return tooMany;
    });
    if (refused === null) await this.#changed(tenantId);
    return refused;
  }

  /**
   * @param work receives the rule with open secrets, and as it is stored
   * @param managedToo whether a rule of a ruleset may be changed too
   */
  async change<T>(
    { tenantId, ruleId, ifVersion, override }: RuleRef,
    work: (rules: TenantRules, existing: GuardrailRule, stored: GuardrailRule) => Promise<ValidatedRule<T>>,
    managedToo = false,
  ): Promise<ValidatedRule<T>> {
    if (!isRuleId(ruleId)) return NOT_FOUND;
    const answer = await this.#rules.change<ValidatedRule<T>>(tenantId, async (rules) => {
      const stored = await rules.find(ruleId);
      if (stored === null) return NOT_FOUND;
      if (ifVersion !== undefined && ifVersion !== stored.version)
        return otherVersion('rule', ifVersion, stored.version);
      if (stored.ruleset !== undefined && override === undefined && !managedToo) return managed(stored, stored.ruleset);
      return work(rules, opened(stored, this.#secrets), stored);
    });
    if (answer.ok) await this.#changed(tenantId);
    return answer;
  }

  /** Stores the next version of a rule, with the content of `draft`. */
  async replace(
    rules: TenantRules,
    existing: GuardrailRule,
    draft: ValidatedRule<ValidDraft>,
    origin: ChangeOrigin,
    beside: Pick<GuardrailRule, 'suspended'> = { suspended: existing.suspended },
  ): Promise<ValidatedRule<GuardrailRule>> {
    if (!draft.ok) return draft;
    const refused = this.#refused(draft.value, existing.actionConfig);
    if (refused !== null) return refused;
    const rule = { ...nextRule(existing, draft.value, this.#clock.now()), ...beside };
    // A rule that already had a pattern does not count again.
    const tooMany = patternPath(existing) === null ? await overPatternQuota([rule], () => rules.all()) : null;
    if (tooMany !== null) return tooMany;
    await rules.store([revisionOf(existing, rule, origin, this.#secrets)]);
    return { ok: true, value: masked(rule) };
  }

  #refused(draft: ValidDraft, before?: JsonObject): ValidatedRule<never> | null {
    const details = refusedAddresses(draft, this.#egress, before);
    return details.length === 0 ? null : { ok: false, problem: { error: 'Validation failed', status: 400, details } };
  }
}

/** The reason of an override is the reason of the change. */
export function originOf({ override, ...ref }: RuleRef, source: ChangeOrigin['source']): ChangeOrigin {
  return { ...ref, ...(override === undefined ? {} : { reason: override }), source };
}

function managed({ key }: GuardrailRule, ruleset: string): ValidatedRule<never> {
  return {
    ok: false,
    problem: {
      error: `The rule "${key}" belongs to the ruleset "${ruleset}" and is changed in its files`,
      status: 409,
      hint: 'Change the file and apply it, or send the header X-AgentLens-Override with the reason: the next plan shows it',
    },
  };
}

function noSuchVersion(version: number): ValidatedRule<never> {
  return {
    ok: false,
    problem: {
      error: `Version ${version} of this rule is not recorded`,
      status: 404,
      hint: 'GET /api/guardrails/:id/versions lists those that are',
    },
  };
}

/** Other ids were never issued, and Postgres would reject some of them. */
function isRuleId(text: string): boolean {
  return /^[\x21-\x7e]{1,100}$/.test(text);
}
