import type { RuleAnswer } from '../../api-types.ts';
import { instant } from '../../output/format.ts';
import type { Paint } from '../../output/style.ts';
import { toneOf } from '../../output/style.ts';
import { type Column, details } from '../../output/table.ts';

/** `enforce`, `shadow` (it only records) or `off`. */
function modeOf({ enabled, mode, dryRun }: RuleAnswer): string {
  if (!enabled || mode === 'off') return 'off';
  return dryRun ? 'shadow' : mode;
}

export const RULE_COLUMNS: readonly Column<RuleAnswer>[] = [
  { title: 'id', value: ({ id }) => id },
  { title: 'name', value: ({ name }) => name },
  { title: 'mode', value: modeOf, tone: toneOf },
  { title: 'if', value: ({ conditionType }) => conditionType },
  { title: 'then', value: ({ actionType }) => actionType },
  { title: 'agent', value: ({ agentId }) => agentId ?? '*' },
  { title: 'version', value: ({ version }) => version, align: 'right' },
];

export function ruleDetails(rule: RuleAnswer, paint: Paint): string {
  return details(
    [
      ['ID', rule.id],
      ['Name', rule.name, 'strong'],
      ['Description', rule.description],
      ['Mode', modeOf(rule), toneOf(modeOf(rule))],
      ['Agent', rule.agentId ?? 'every agent'],
      ['If', rule.conditionType],
      ['', JSON.stringify(rule.conditionConfig)],
      ['Then', rule.actionType],
      ['', JSON.stringify(rule.actionConfig)],
      ['Selector', rule.selector && JSON.stringify(rule.selector)],
      ['Cooldown', `${rule.cooldownMinutes} min`],
      ['Priority', rule.priority],
      ['Version', rule.version],
      ['Changed', instant(rule.updatedAt)],
    ],
    paint,
  );
}
