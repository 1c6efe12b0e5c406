import { useQuery } from '@tanstack/react-query';
import { client } from '../api/client.ts';
import type { Rule } from '../api/model.ts';
import { useRead } from '../live-data/live-store.ts';
import { actionMark, type Mark, VERDICTS } from '../ui/marks.tsx';

/** All rules, read once for every page that names one. */
export function useRules() {
  return useRead(['rules', 'all'], (signal) => client.listRules({ query: { limit: 500 }, signal }));
}

export function useRulesById(): ReadonlyMap<string, Rule> {
  return new Map((useRules().data?.rules ?? []).map((rule) => [rule.id, rule]));
}

/** What conditions and actions there are: it changes only with the platform. */
export function useCatalog() {
  return useQuery({
    queryKey: ['catalog'],
    queryFn: ({ signal }) => client.getRuleCatalog({ signal }),
    staleTime: Number.POSITIVE_INFINITY,
  });
}

export type ShownMode = 'off' | 'suspended' | 'shadow' | 'canary' | 'enforce';
type ModeFields = Pick<Rule, 'enabled' | 'mode' | 'dryRun' | 'rollout' | 'suspended'>;

/** The mode that results from all switches of a rule. */
export function modeOf(rule: ModeFields): ShownMode {
  if (!rule.enabled || rule.mode === 'off') return 'off';
  if (rule.suspended !== undefined && Date.parse(rule.suspended.until) > Date.now()) return 'suspended';
  if (rule.mode === 'shadow' || rule.dryRun) return 'shadow';
  return rule.mode === 'canary' ? 'canary' : 'enforce';
}

/** The mode and, for a canary, its percentage: the props of a `ModeChip`. */
export function chipOf(rule: ModeFields) {
  const mode = modeOf(rule);
  return { mode, percent: mode === 'canary' ? rule.rollout?.percent : undefined };
}

/** What a rule does, or would do while it is in shadow. */
export function ruleMark(rule: ModeFields & Pick<Rule, 'actionType'>): Mark {
  const mark = actionMark(rule.actionType);
  return modeOf(rule) === 'shadow' ? { ...VERDICTS.shadow, word: mark.word } : mark;
}

/** Whom a rule is about: `every agent, web_search`. */
export function scopeOf(rule: Pick<Rule, 'agentId' | 'toolNames' | 'selector'>): string {
  const tools = rule.toolNames ?? rule.selector?.tools ?? [];
  return [
    rule.agentId ?? 'every agent',
    ...tools.slice(0, 3),
    ...(tools.length > 3 ? [`${tools.length - 3} more`] : []),
  ].join(', ');
}
