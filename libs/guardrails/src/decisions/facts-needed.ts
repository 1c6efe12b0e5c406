import type { DecisionRequest } from '@agentlens/contracts';
import type { Increment, Series } from '../ports/window-store.ts';
import { seriesKey } from '../windows/span.ts';
import type { DecisionRule } from './decision-rule.ts';
import type { Addition, ConditionLabels, ConditionNeeds, FactNeeds, WantedLabel } from './facts.ts';
import { looksAtAgentTags } from './selectors.ts';

const NOTHING: FactNeeds = { history: false, agent: false, series: [], increments: [], undo: [] };

function isNothing({ history, histories, series, additions, labels }: ConditionNeeds): boolean {
  return (
    history !== true &&
    labels === undefined &&
    [histories, series, additions].every((list) => list === undefined || list.length === 0)
  );
}

/**
 * Returns the facts to fetch before a request can be decided.
 * @param rules result of `DecisionBook.matching` for the request
 * @param counting result of `DecisionBook.counting` for the request; these rules count it even if they do not apply
 */
export function factsNeeded(
  rules: readonly DecisionRule[],
  request: DecisionRequest,
  counting: readonly DecisionRule[] = [],
): FactNeeds {
  const asked = counting.length === 0 ? rules : [...new Set([...rules, ...counting])];
  const involved = asked.map((rule) => ({ rule, need: rule.needs(request) }));
  const needs = involved.map(({ need }) => need);
  const agent = rules.some(({ selects }) => looksAtAgentTags(selects));
  if (needs.every(isNothing)) return agent ? { ...NOTHING, agent } : NOTHING;
  const series = new Map<string, { readonly series: Series; readonly at: number }>();
  const add = (one: Series) => {
    const key = seriesKey(one);
    if (!series.has(key)) series.set(key, { series: one, at: series.size });
  };
  for (const need of needs) {
    need.series?.forEach(add);
    for (const addition of need.additions ?? []) add(addition.series);
  }
  const additions = additionsOf(needs.flatMap((need) => need.additions ?? []));
  const atMs = Date.parse(request.receivedAt);
  const increment = ({ series: one, value }: Addition, sign: 1 | -1): Increment => ({
    series: series.get(seriesKey(one))?.at ?? 0,
    event: 0,
    atMs,
    value: sign * value,
  });
  return {
    history: needs.some(({ history }) => history === true),
    ...historiesNeeded(needs),
    agent,
    series: [...series.values()].map((entry) => entry.series),
    increments: additions.map((addition) => increment(addition, 1)),
    ...labelsNeeded(rules, involved),
    undo: additions.filter(({ because }) => because === 'call').map((addition) => increment(addition, -1)),
  };
}

function historiesNeeded(needs: readonly ConditionNeeds[]): Pick<FactNeeds, 'histories'> {
  const histories = distinct(needs.map((need) => need.histories));
  return histories.length === 0 ? {} : { histories };
}

/** Only rules that apply to the call read labels; every counting rule sets and clears them. */
function labelsNeeded(
  rules: readonly DecisionRule[],
  involved: readonly { readonly rule: DecisionRule; readonly need: ConditionNeeds }[],
): Pick<FactNeeds, 'labels'> {
  const labelling = involved.flatMap(({ rule, need: { labels } }) => (labels === undefined ? [] : [{ rule, labels }]));
  if (labelling.length === 0) return {};
  return {
    labels: {
      reads: labelling.some(({ rule, labels }) => labels.reads === true && rules.includes(rule)),
      ...(labelling.some(({ rule, labels }) => labels.readsSession === true && rules.includes(rule))
        ? { readsSession: true }
        : {}),
      sets: wanted(labelling, ({ sets }) => sets),
      setsIfDenied: wanted(labelling, ({ setsIfDenied }) => setsIfDenied),
      clears: distinct(labelling.map(({ labels }) => labels.clears)),
      compares: distinct(labelling.map(({ rule, labels }) => (rules.includes(rule) ? labels.compares : []))),
      prints: distinct(labelling.map(({ labels }) => labels.prints)),
    },
  };
}

function distinct<T extends string>(lists: readonly (readonly T[] | undefined)[]): T[] {
  return [...new Set(lists.flatMap((list) => list ?? []))];
}

function wanted(
  labelling: readonly { readonly rule: DecisionRule; readonly labels: ConditionLabels }[],
  chosen: (labels: ConditionLabels) => readonly string[] | undefined,
): WantedLabel[] {
  return labelling.flatMap(({ rule, labels }) => (chosen(labels) ?? []).map((label) => ({ label, rule })));
}

/** Deduplicates additions: several rules may read one series, but a call adds to it once. */
function additionsOf(additions: readonly Addition[]): Addition[] {
  return [...new Map(additions.map((addition) => [seriesKey(addition.series), addition])).values()];
}
