import type { Catalog, Rule, TreeRun } from '../api/model.ts';
import { duration, money, moneyCell } from '../figures/figures.ts';

const SHOWN: Readonly<Record<string, (value: number) => string>> = { USD: money, ms: duration };
const PLAIN = new Intl.NumberFormat('en', { maximumSignificantDigits: 15 });

/** `6 of 5 calls`, `$4.26 of $4.00`. */
export function measuredText(value: number, limit: number, unit: string): string {
  const show = SHOWN[unit];
  if (show !== undefined) return `${show(value)} of ${show(limit)}`;
  const suffix = unit === '' ? '' : ` ${unit}`;
  return unit === '%'
    ? `${PLAIN.format(value)} % of ${PLAIN.format(limit)} %`
    : `${PLAIN.format(value)} of ${PLAIN.format(limit)}${suffix}`;
}

const METRIC_UNITS: readonly (readonly [RegExp, string])[] = [
  [/_usd$/, 'USD'],
  [/_ms$/, 'ms'],
  [/_tokens$|^llm_tokens_(in|out)$/, 'tokens'],
  [/^bytes_(in|out)$/, 'bytes'],
];

/** Unit of a rule's measurement. Empty if unknown, as for earlier versions of the rule. */
export function unitOf(rule: Rule | undefined, ruleVersion: number, catalog: Catalog | undefined): string {
  if (rule === undefined || rule.version !== ruleVersion) return '';
  const { metric, aggregate } = rule.conditionConfig;
  if (rule.conditionType === 'metric_window' && typeof metric === 'string' && aggregate !== 'count')
    return METRIC_UNITS.find(([name]) => name.test(metric))?.[1] ?? '';
  return catalog?.conditions.find(({ type }) => type === rule.conditionType)?.unit ?? '';
}

type Cost = Pick<TreeRun['totals'], 'costUsd' | 'unpricedCalls'>;

/** A cost in USD. Without a known price it is unknown; with some, it is a minimum. */
export function costWords({ costUsd, unpricedCalls }: Cost): string {
  if (unpricedCalls === 0) return moneyCell(costUsd);
  return costUsd === 0 ? 'unknown' : `≥ ${moneyCell(costUsd)}`;
}
