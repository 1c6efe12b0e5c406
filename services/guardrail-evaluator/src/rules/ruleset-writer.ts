import {
  detailsOf,
  type GuardrailRule,
  type ProblemDetail,
  type RuleChangeAuthor,
  RuleKey,
  RulesetApply,
  RulesetDraft,
  type RulesetPlan,
} from '@agentlens/contracts';
import type { EgressPolicy } from '@agentlens/egress';
import { planRuleset, type ValidatedRule, validateDraft, type WantedRule } from '@agentlens/guardrails';
import type { Clock, SecretBox } from '@agentlens/platform';
import type { z } from 'zod';
import { overPatternQuota, refusedAddresses } from './rule-refusals.ts';
import { type ChangeOrigin, deletion, newRule, nextRule, opened, revisionOf, sealed } from './rule-revision.ts';
import type { RuleRevision, RuleStore, TenantRules } from './rule-transaction.ts';
import { staleDetails } from './stale-plan.ts';

/** The ruleset to change and the author of the change. */
interface RulesetRef extends RuleChangeAuthor {
  readonly tenantId: string;
  readonly ruleset: string;
}

interface Planned {
  readonly plan: RulesetPlan;
  readonly wanted: ReadonlyMap<string, WantedRule>;
  /** Existing rules by id, with open secrets. */
  readonly held: ReadonlyMap<string, GuardrailRule>;
}

const MAX_DETAILS = 20;

/** Plans and applies rulesets. An apply is stored completely or not at all. */
export class RulesetWriter {
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

  /** Computes the plan without changing anything. */
  async plan({ tenantId, ruleset }: RulesetRef, body: unknown): Promise<ValidatedRule<RulesetPlan>> {
    const draft = parsed(RulesetDraft, ruleset, body);
    if (!draft.ok) return draft;
    const planned = await this.#rules.change(tenantId, (rules) => this.#plan(rules, ruleset, draft.value));
    return { ok: true, value: planned.plan };
  }

  /** Returns what was done. Applying the same ruleset again changes nothing, regardless of its basis. */
  async apply(ref: RulesetRef, body: unknown): Promise<ValidatedRule<RulesetPlan>> {
    const { tenantId, ruleset } = ref;
    const apply = parsed(RulesetApply, ruleset, body);
    if (!apply.ok) return apply;
    const answer = await this.#rules.change<ValidatedRule<RulesetPlan>>(tenantId, async (rules) => {
      const planned = await this.#plan(rules, ruleset, apply.value);
      const { plan } = planned;
      if (plan.problems.length > 0) return refused(plan.problems, plan.problems.some(isConflict) ? 409 : 400);
      if (plan.changes.every(({ action }) => action === 'none')) {
        await rules.settle(driftedOf(planned));
        return { ok: true, value: plan };
      }
      const stale = await staleDetails(rules, plan, apply.value.basis);
      if (stale.length > 0) return outdated(stale);
      const { reason = ref.reason } = apply.value;
      await rules.store(this.#revisions(planned, tenantId, { ...ref, reason, source: 'ruleset' }));
      await rules.settle(driftedOf(planned));
      return { ok: true, value: plan };
    });
    if (answer.ok && answer.value.changes.some(({ action }) => action !== 'none')) await this.#changed(tenantId);
    return answer;
  }

  /** Releases the rules of a ruleset: they stay in force and become unmanaged. */
  async release(ref: RulesetRef): Promise<ValidatedRule<{ released: number }>> {
    const origin = { ...ref, source: 'ruleset', reason: ref.reason ?? `Released from ${ref.ruleset}` } as const;
    const released = await this.#rules.change(ref.tenantId, async (rules) => {
      const own = (await rules.all()).filter(({ ruleset }) => ruleset === ref.ruleset);
      const revisions = own.map((stored) => {
        const before = opened(stored, this.#secrets);
        const { ruleset: _ruleset, appliedVersion: _applied, ...rule } = nextRule(before, before, this.#clock.now());
        return revisionOf(before, rule, origin, this.#secrets);
      });
      await rules.store(revisions);
      return own.length;
    });
    if (released === 0) return NO_SUCH_RULESET;
    await this.#changed(ref.tenantId);
    return { ok: true, value: { released } };
  }

  async #plan(rules: TenantRules, ruleset: string, { rules: written, prune }: RulesetDraft): Promise<Planned> {
    const held = (await rules.all()).map((rule) => opened(rule, this.#secrets));
    const problems: ProblemDetail[] = [];
    const wanted: WantedRule[] = [];
    for (const [at, { key, adopt, ...draft }] of written.entries()) {
      const valid = validateDraft(draft);
      if (valid.ok) wanted.push({ key, ...(adopt == null ? {} : { adopt }), draft: valid.value });
      else problems.push(...placed(valid.problem.details ?? [], at));
    }
    if (problems.length > 0) return { plan: emptyPlan(ruleset, problems), wanted: new Map(), held: new Map() };
    const plan = planRuleset({ ruleset, wanted, prune, held });
    const byKey = new Map(wanted.map((rule) => [rule.key, rule]));
    const byId = new Map(held.map((rule) => [rule.id, rule]));
    for (const [at, { key, draft }] of wanted.entries()) {
      const id = plan.changes.find((change) => change.key === key)?.ruleId ?? '';
      problems.push(...placed(refusedAddresses(draft, this.#egress, byId.get(id)?.actionConfig), at));
    }
    const tooMany = await overPatternQuota(resultOf(plan, byKey, byId), async () => remaining(plan, held));
    if (tooMany !== null && !tooMany.ok) problems.push(...(tooMany.problem.details ?? []));
    const changes = await withDrift(rules, plan, byId);
    return { plan: { ...plan, changes, problems: [...plan.problems, ...problems] }, wanted: byKey, held: byId };
  }

  #revisions({ plan, wanted, held }: Planned, tenantId: string, origin: ChangeOrigin): RuleRevision[] {
    const nowMs = this.#clock.now();
    return plan.changes.flatMap(({ key, ruleId, action }): RuleRevision[] => {
      const before = ruleId === undefined ? undefined : held.get(ruleId);
      if (action === 'none') return [];
      if (action === 'delete') {
        if (before === undefined) return [];
        return [deletion({ existing: sealed(before, this.#secrets), opened: before }, origin, nowMs)];
      }
      const draft = wanted.get(key)?.draft;
      if (draft === undefined) return [];
      const rule = before === undefined ? newRule(tenantId, draft, nowMs) : nextRule(before, draft, nowMs);
      const managed = { ...rule, key, ruleset: plan.ruleset, appliedVersion: rule.version };
      return [revisionOf(before ?? null, managed, origin, this.#secrets)];
    });
  }
}

const NO_SUCH_RULESET: ValidatedRule<never> = { ok: false, problem: { error: 'Ruleset not found', status: 404 } };

/** Rules that others changed but that still match the ruleset. */
function driftedOf({ plan, held }: Planned): string[] {
  return plan.changes.flatMap(({ action, ruleId = '' }) => {
    const rule = held.get(ruleId);
    return action === 'none' && rule !== undefined && rule.appliedVersion !== rule.version ? [ruleId] : [];
  });
}

/** The changes of the plan, each with what others changed since the rule was last applied. */
async function withDrift(rules: TenantRules, plan: RulesetPlan, held: ReadonlyMap<string, GuardrailRule>) {
  const applied = plan.changes.flatMap(({ ruleId = '' }) => {
    const rule = held.get(ruleId);
    return rule?.appliedVersion === undefined || rule.appliedVersion === rule.version ? [] : [rule];
  });
  if (applied.length === 0) return plan.changes;
  const since = await rules.changesSince(new Map(applied.map(({ id, appliedVersion = 0 }) => [id, appliedVersion])));
  return plan.changes.map((change) => ({
    ...change,
    drift: since.filter(({ ruleId }) => ruleId === change.ruleId).map(({ drift }) => drift),
  }));
}

/**
 * The rules of the ruleset after the apply. Existing rules keep their id, so that their patterns are not counted twice.
 */
function resultOf(
  plan: RulesetPlan,
  wanted: ReadonlyMap<string, WantedRule>,
  held: ReadonlyMap<string, GuardrailRule>,
): GuardrailRule[] {
  return plan.changes.flatMap(({ key, ruleId = key }) => {
    const draft = wanted.get(key)?.draft;
    const base = held.get(ruleId);
    if (draft === undefined) return [];
    const made = base ?? { id: ruleId, tenantId: '', version: 1, createdAt: '', updatedAt: '' };
    return [{ ...made, ...draft }];
  });
}

/** The rules that the ruleset does not delete. */
function remaining({ changes }: RulesetPlan, held: readonly GuardrailRule[]): GuardrailRule[] {
  const deleted = new Set(changes.filter(({ action }) => action === 'delete').map(({ ruleId }) => ruleId));
  return held.filter(({ id }) => !deleted.has(id));
}

function parsed<T extends z.ZodType>(schema: T, ruleset: string, body: unknown): ValidatedRule<z.output<T>> {
  const name = RuleKey.safeParse(ruleset);
  if (!name.success)
    return refused([{ path: 'name', message: name.error.issues[0]?.message ?? 'is not a valid name' }], 400);
  const read = schema.safeParse(body);
  return read.success ? { ok: true, value: read.data } : refused(detailsOf(read.error), 400);
}

function placed(details: readonly ProblemDetail[], at: number): ProblemDetail[] {
  return details.map(({ path, message }) => ({ path: `rules.${at}${path === '' ? '' : `.${path}`}`, message }));
}

function emptyPlan(ruleset: string, problems: ProblemDetail[]): RulesetPlan {
  return { ruleset, basis: {}, changes: [], unlisted: [], problems };
}

/** Returns true if another ruleset owns the rule; the request itself is valid. */
function isConflict({ path }: ProblemDetail): boolean {
  return /^rules\.\d+\.(key|adopt)$/.test(path);
}

function refused(details: readonly ProblemDetail[], status: number): ValidatedRule<never> {
  return { ok: false, problem: { error: 'Validation failed', status, details: details.slice(0, MAX_DETAILS) } };
}

function outdated(details: readonly ProblemDetail[]): ValidatedRule<never> {
  return {
    ok: false,
    problem: {
      error: 'The plan is out of date: the rules were changed since',
      status: 409,
      details: details.slice(0, MAX_DETAILS),
      hint: 'Plan again, look at what is different, and apply that plan. Nothing was changed.',
    },
  };
}
