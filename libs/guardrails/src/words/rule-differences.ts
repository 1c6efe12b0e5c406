import { rulePartsInWords, type WordedRule } from './rule-words.ts';

type Limits = Readonly<Record<string, string | number | undefined>> | null | undefined;

/** A rule or a draft, with the members that its parts in words do not cover. */
export interface ComparedRule extends WordedRule {
  readonly name: string;
  readonly description?: string | undefined;
  readonly priority?: number | undefined;
  readonly mode?: string | undefined;
  readonly enabled?: boolean | undefined;
  readonly dryRun?: boolean | undefined;
  readonly rollout?: { readonly percent: number; readonly by?: string | undefined } | null | undefined;
  readonly guard?: Limits;
  readonly rollback?: Limits;
  readonly suspended?: Limits;
}

export interface RuleDifference {
  readonly name: string;
  readonly before: string;
  readonly after: string;
}

/** The parts in which two versions of a rule differ, each in words. */
export function ruleDifferences(before: ComparedRule, after: ComparedRule): RuleDifference[] {
  const [old, now] = [comparedParts(before), comparedParts(after)];
  return old.flatMap(([name, words], index): RuleDifference[] => {
    const next = now[index]?.[1] ?? '';
    return words === next ? [] : [{ name, before: words, after: next }];
  });
}

function comparedParts(rule: ComparedRule): [string, string][] {
  const { action, condition, agents, details, fallback } = rulePartsInWords(rule);
  return [
    ['Name', rule.name],
    ['Description', rule.description ?? 'none'],
    ['Mode', modeWords(rule)],
    ['Action', action],
    ['When', condition],
    ['Agents', agents],
    ['Details', details],
    ['Otherwise', fallback],
    ['Priority', String(rule.priority ?? 0)],
    ['Promotion guard', limitsWords(rule.guard)],
    ['Rollback', limitsWords(rule.rollback)],
    ['Suspended', limitsWords(rule.suspended)],
  ];
}

/** `minAsked` becomes `min asked 50`. */
function limitsWords(limits: Limits): string {
  const set = Object.entries(limits ?? {}).filter(([, limit]) => limit !== undefined);
  if (set.length === 0) return 'none';
  return set
    .map(([name, limit]) => `${name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)} ${limit}`)
    .join(', ');
}

const UNITS: Readonly<Record<string, string>> = { tree: 'run trees', actor: 'end users' };

function modeWords({ mode, enabled, dryRun, rollout }: ComparedRule): string {
  if (enabled === false || mode === 'off') return 'off';
  if (mode === 'shadow' || dryRun === true) return 'shadow';
  if (mode !== 'canary') return 'enforce';
  return `canary${rollout == null ? '' : ` at ${rollout.percent} % of ${UNITS[rollout.by ?? 'tree'] ?? `${rollout.by}s`}`}`;
}
