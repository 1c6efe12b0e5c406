import type { GuardrailRule, ProblemDetail, RulesetBasis, RulesetChange, RulesetPlan } from '@agentlens/contracts';
import { ruleChanges } from '../rules/rule-changes.ts';
import type { ValidDraft } from '../rules/validate-rule.ts';

/**
 * Returns whether a change from `before` to `after` may stop less (null: no rule). `maybe` if the change affects what
 * the rule reads: only tests can show the direction.
 */
function loosening(before: ValidDraft | null, after: ValidDraft | null): 'yes' | 'maybe' | undefined {
  if (before === null || force(before) === 0) return undefined;
  if (after === null || force(after) < force(before) || isMilder(before, after)) return 'yes';
  if (OPEN_ENDS.some((field) => before[field] === 'block' && after[field] === 'allow')) return 'yes';
  if (after.agentId !== undefined && before.agentId === undefined) return 'yes';
  const changes = ruleChanges(before, after).map(({ path }) => path);
  return changes.some((path) => WHAT_IT_LOOKS_AT.test(path)) ? 'maybe' : undefined;
}

const OPEN_ENDS = ['onMissing', 'onUnavailable'] as const;
const WHAT_IT_LOOKS_AT = /^(condition|selector|agentId|toolNames|direction|cooldownMinutes|actionType|actionConfig)/;

/** 0: not evaluated, 1: only records, above: acts, from a small share of the calls up to 2 for all. */
export function force({ enabled, mode, dryRun, rollout }: ForceFields): number {
  if (!enabled || mode === 'off') return 0;
  if (mode === 'shadow' || dryRun) return 1;
  return mode === 'canary' ? 1 + (rollout?.percent ?? 0) / 101 : 2;
}

type ForceFields = Pick<ValidDraft, 'enabled' | 'mode' | 'dryRun' | 'rollout'>;

/** Actions of decision rules, from mild to severe. */
const DECISIONS = ['allow', 'modify_arguments', 'require_approval', 'block', 'terminate_run'];

function isMilder(before: ValidDraft, after: ValidDraft): boolean {
  const [from, to] = [DECISIONS.indexOf(before.actionType), DECISIONS.indexOf(after.actionType)];
  return from >= 0 && to >= 0 && to < from;
}

/** A rule as its ruleset defines it. */
export interface WantedRule {
  readonly key: string;
  /** Id of an unowned rule to take over. */
  readonly adopt?: string;
  readonly draft: ValidDraft;
}

interface RulesetQuestion {
  readonly ruleset: string;
  readonly wanted: readonly WantedRule[];
  /** Delete the ruleset's rules that are not listed. */
  readonly prune: boolean;
  /** All rules of the tenant, with their secrets unsealed. */
  readonly held: readonly GuardrailRule[];
}

/** Plans the changes for applying a ruleset. The caller, which knows the rule versions, adds the drift of each rule. */
export function planRuleset({ ruleset, wanted, prune, held }: RulesetQuestion): RulesetPlan {
  const problems: ProblemDetail[] = [];
  const changes: RulesetChange[] = [];
  const basis: RulesetBasis = {};
  const byKey = new Map(held.flatMap((rule) => (rule.key === undefined ? [] : [[rule.key, rule] as const])));
  const keys = new Set<string>();
  for (const [at, { key, adopt, draft }] of wanted.entries()) {
    if (keys.has(key)) problems.push({ path: `rules.${at}.key`, message: `"${key}" is in the list twice` });
    keys.add(key);
    const existing = byKey.get(key) ?? held.find(({ id }) => id === adopt);
    const refusal = refusalOf(existing, { key, adopt, ruleset });
    if (refusal !== null) problems.push({ path: `rules.${at}.${refusal.field}`, message: refusal.message });
    if (existing === undefined) changes.push({ key, name: draft.name, action: 'create', changes: [], drift: [] });
    else {
      changes.push(changeOf(existing, key, draft, existing.ruleset === ruleset));
      basis[key] = existing.version;
    }
  }
  const unlisted: string[] = [];
  for (const { id: ruleId, key, name, version, ...rule } of held) {
    if (rule.ruleset !== ruleset || key === undefined || keys.has(key)) continue;
    basis[key] = version;
    if (!prune) {
      unlisted.push(key);
      continue;
    }
    const loosens = loosening({ ...rule, name }, null);
    changes.push({ key, name, ruleId, action: 'delete', changes: [], drift: [], ...(loosens && { loosens }) });
  }
  return { ruleset, basis, changes, unlisted, problems };
}

function changeOf(existing: GuardrailRule, key: string, draft: ValidDraft, isOwn: boolean): RulesetChange {
  const changes = ruleChanges(existing, draft);
  const loosens = loosening(existing, draft);
  const action = !isOwn ? 'adopt' : changes.length > 0 ? 'update' : 'none';
  return { key, name: draft.name, ruleId: existing.id, action, changes, drift: [], ...(loosens && { loosens }) };
}

interface Claim {
  readonly key: string;
  readonly adopt: string | undefined;
  readonly ruleset: string;
}

function refusalOf(existing: GuardrailRule | undefined, { key, adopt, ruleset }: Claim) {
  if (existing === undefined) {
    if (adopt === undefined) return null;
    return { field: 'adopt', message: `there is no rule ${adopt} to take over: remove "adopt" to make a new one` };
  }
  if (existing.ruleset !== undefined && existing.ruleset !== ruleset) {
    return {
      field: 'key',
      message: `"${existing.key}" belongs to the ruleset "${existing.ruleset}": release it there first`,
    };
  }
  if (existing.ruleset === ruleset && existing.key !== key) {
    return { field: 'adopt', message: `the rule ${existing.id} is "${existing.key}" of this ruleset already` };
  }
  return null;
}
