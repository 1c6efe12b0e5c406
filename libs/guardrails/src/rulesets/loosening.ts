import { ruleChanges } from '../rules/rule-changes.ts';
import type { ValidDraft } from '../rules/validate-rule.ts';

/**
 * Returns whether a change from `before` to `after` may stop less (null: no rule). `maybe` if the change affects what
 * the rule reads: only tests can show the direction.
 */
export function loosening(before: ValidDraft | null, after: ValidDraft | null): 'yes' | 'maybe' | undefined {
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
