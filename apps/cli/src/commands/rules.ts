import { pages } from '@agentlens/client';
import type { AnswerOf, DefineCommand, RuleAnswer } from '../context.ts';
import { usageError } from '../errors.ts';
import { type Paint, toneOf } from '../output/style.ts';
import { type Column, details, instant, table } from '../output/table.ts';
import { count, documentOf, instantBefore } from '../parse.ts';
import { PAGE, printList } from './print-list.ts';

/** `enforce`, `canary` with its share, `shadow` (records only), `suspended` or `off`. */
function modeOf({ enabled, mode, dryRun, rollout, suspended }: RuleAnswer): string {
  if (!enabled || mode === 'off') return 'off';
  if (suspended !== undefined && Date.parse(suspended.until) > Date.now()) return 'suspended';
  if (dryRun) return 'shadow';
  return mode === 'canary' && rollout !== undefined ? `canary ${rollout.percent} %` : mode;
}

const RULE_COLUMNS: readonly Column<RuleAnswer>[] = [
  { title: 'id', value: ({ id }) => id },
  { title: 'name', value: ({ name }) => name },
  { title: 'mode', value: modeOf, tone: toneOf },
  { title: 'if', value: ({ conditionType }) => conditionType },
  { title: 'then', value: ({ actionType }) => actionType },
  { title: 'agent', value: ({ agentId }) => agentId ?? '*' },
  { title: 'version', value: ({ version }) => version, align: 'right' },
];

function ruleDetails(rule: RuleAnswer, paint: Paint): string {
  return details(
    [
      ['ID', rule.id],
      ['Name', rule.name, 'strong'],
      ['Description', rule.description],
      ['Mode', modeOf(rule), toneOf(modeOf(rule))],
      ['Agent', rule.agentId ?? rule.selector?.agentSlugsAny?.join(', ') ?? 'every agent'],
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

const TRIGGER_COLUMNS: readonly Column<AnswerOf<'listTriggers'>['triggers'][number]>[] = [
  { title: 'at', value: ({ triggeredAt }) => instant(triggeredAt) },
  { title: 'rule', value: ({ ruleName }) => ruleName },
  { title: 'agent', value: ({ agentId }) => agentId },
  { title: 'action', value: ({ actionType }) => actionType },
  { title: 'result', value: ({ actionResult }) => actionResult, tone: toneOf },
  { title: 'what happened', value: ({ metadata }) => metadata.message },
];

export const listRules: DefineCommand = (command, context) => {
  command
    .option('--agent <id>', 'rules that apply to this agent')
    .option('--enabled', 'only enabled rules')
    .option('--disabled', 'only disabled rules')
    .option('--condition <type>', 'only rules with this condition, such as error_rate_threshold')
    .option('--action <type>', 'only rules with this action, such as pause_agent')
    .option('--limit <n>', 'maximum number of rules', count, PAGE)
    .action(async ({ agent, enabled, disabled, condition, action, limit }) => {
      const client = await context.connect();
      const state = enabled === true ? true : disabled === true ? false : undefined;
      const query = { agentId: agent, enabled: state, conditionType: condition, actionType: action };
      await printList(context, {
        pages: pages(client.listRules, { query: { ...query, limit: Math.min(limit, PAGE) } }),
        itemsOf: ({ rules }) => rules,
        columns: RULE_COLUMNS,
        none: 'No rules match.',
        limit,
      });
    });
};

export const getRule: DefineCommand = (command, context) => {
  command.argument('<id>', 'the rule').action(async (id) => {
    const client = await context.connect();
    const status = await client.getRuleStatus({ params: { id } });
    const { layout } = context.output;
    context.output.print(status, () => {
      const { rule, state, recentTriggers } = status;
      const measured = details(
        [
          ['Measures now', state?.currentValue],
          ['Fired', state && `${state.triggerCount} times`],
          ['Last', instant(state?.lastTriggeredAt)],
        ],
        layout.paint,
      );
      const triggers = recentTriggers.length === 0 ? '' : table(recentTriggers, TRIGGER_COLUMNS, layout);
      return [ruleDetails(rule, layout.paint), measured, triggers].filter((part) => part !== '').join('\n\n');
    });
  });
};

export const createRule: DefineCommand = (command, context) => {
  command
    .argument('<file>', 'the rule as JSON or YAML, with the API\'s field names; "-" reads stdin')
    .action(async (file) => {
      const body = (await documentOf(file, context.host)) as never;
      const client = await context.connect();
      const rule = await client.createRule({ body });
      context.output.print(rule, () => ruleDetails(rule, context.output.paint));
    });
};

export const deleteRule: DefineCommand = (command, context) => {
  command.argument('<id>', 'the rule').action(async (id) => {
    const client = await context.connect();
    const rule = await client.getRule({ params: { id } });
    await context.confirmByName(`Delete the rule ${id}? Its history is kept.`, rule.name);
    const answer = await client.deleteRule({ params: { id } });
    context.output.print(answer, () => `Deleted ${id}`);
  });
};

/** Defines the command that enables or disables a rule. */
function setEnabled(enabled: boolean): DefineCommand {
  return (command, context) => {
    command.argument('<id>', 'the rule').action(async (id) => {
      const client = await context.connect();
      const rule = await client.updateRule({ params: { id }, body: { enabled } });
      context.output.print(rule, () => ruleDetails(rule, context.output.paint));
    });
  };
}

export const enableRule = setEnabled(true);

export const disableRule = setEnabled(false);

const VERSION_COLUMNS: readonly Column<AnswerOf<'listRuleVersions'>['versions'][number]>[] = [
  { title: 'version', value: ({ version }) => version, align: 'right' },
  { title: 'at', value: ({ changedAt }) => instant(changedAt) },
  { title: 'by', value: ({ changedBy }) => changedBy },
  { title: 'through', value: ({ source }) => source },
  {
    title: 'changed',
    value: ({ deleted, changes }) => (deleted ? 'the rule was deleted' : changes.map(({ path }) => path).join(', ')),
  },
  { title: 'reason', value: ({ reason }) => reason },
];

export const ruleVersions: DefineCommand = (command, context) => {
  command
    .argument('<id>', 'the rule')
    .option('--limit <n>', 'maximum number of versions', count, 50)
    .action(async (id, { limit }) => {
      const client = await context.connect();
      await printList(context, {
        pages: pages(client.listRuleVersions, { params: { id }, query: { limit: Math.min(limit, PAGE) } }),
        itemsOf: ({ versions }) => versions,
        columns: VERSION_COLUMNS,
        none: 'No versions.',
        limit,
      });
    });
};

export const revertRule: DefineCommand = (command, context) => {
  command
    .argument('<id>', 'the rule')
    .argument('<version>', 'the version to revert to', count)
    .option('--reason <text>', 'reason, recorded in the rule history; overrides the files of a ruleset')
    .action(async (id, version, { reason }) => {
      const client = await context.connect();
      const current = await client.getRule({ params: { id } });
      const { ruleset } = current;
      if (ruleset !== undefined && reason === undefined) {
        const hint =
          'Give the reason with --reason: it overrides the files of the ruleset until they are applied again.';
        throw usageError(`The ruleset "${ruleset}" manages this rule`, hint);
      }
      // Headers carry ASCII, so in the extended form of RFC 8187.
      const reasoned = { 'x-agentlens-override': `UTF-8''${encodeURIComponent(reason ?? '')}` };
      const headers = ruleset === undefined ? {} : reasoned;
      await context.confirm(`Revert "${current.name}" to version ${version}?`);
      const body = { version, reason };
      // The platform rejects this if the rule has changed since it was read.
      const rule = await client.revertRule({ params: { id }, body, ifMatch: current.version, headers });
      context.output.print(rule, () => ruleDetails(rule, context.output.paint));
    });
};

export const ruleHistory: DefineCommand = (command, context) => {
  const when = instantBefore(context.host.nowMs);
  command
    .argument('[id]', 'one rule; omit it to show all rules')
    .option('--agent <id>', 'only triggers for this agent')
    .option('--from <time>', 'start: an instant, a date or an age such as 2h', when)
    .option('--to <time>', 'end: an instant, a date or an age such as 2h', when)
    .option('--limit <n>', 'maximum number of triggers', count, 50)
    .action(async (ruleId, { agent, from, to, limit }) => {
      const client = await context.connect();
      const query = { ruleId, agentId: agent, from, to, limit: Math.min(limit, PAGE) };
      await printList(context, {
        pages: pages(client.listTriggers, { query }),
        itemsOf: ({ triggers }) => triggers,
        columns: TRIGGER_COLUMNS,
        none: 'No rule fired.',
        limit,
      });
    });
};
