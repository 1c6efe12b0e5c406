import { pages } from '@agentlens/client';
import { argumentLine } from '@agentlens/contracts/argument-line';
import type { AnswerOf, DecisionAnswer, DefineCommand } from '../context.ts';
import { toneOf } from '../output/style.ts';
import { type Column, details, duration, instant, type Layout, table, usd } from '../output/table.ts';
import { count, instantBefore } from '../parse.ts';
import { PROGRAM } from '../program-name.ts';
import { PAGE, printList } from './print-list.ts';

/** One-line summary of an event. */
export function eventText(event: AnswerOf<'getEvent'>): string {
  const { eventType, toolName, model, payload, usage } = event;
  const error = typeof payload.error === 'string' ? payload.error : undefined;
  const about = [toolName, model, error].filter((part) => part !== null && part !== undefined && part !== '');
  const cost = usage.costUsd === null ? '' : ` ${usd(usage.costUsd)}`;
  return `${eventType}${about.length === 0 ? '' : `  ${about.join(': ')}`}${cost}`;
}

const EVENT_COLUMNS: readonly Column<AnswerOf<'getEvent'>>[] = [
  { title: 'at', value: ({ timestamp }) => instant(timestamp) },
  { title: 'severity', value: ({ severity }) => severity, tone: toneOf },
  { title: 'agent', value: ({ agentId }) => agentId },
  { title: 'run', value: ({ sessionId }) => sessionId },
  { title: 'what happened', value: eventText },
  { title: 'id', value: ({ id }) => id },
];

export const listEvents: DefineCommand = (command, context) => {
  const when = instantBefore(context.host.nowMs);
  command
    .option('--agent <id>', 'only events of this agent')
    .option('--run <id>', 'only events of this run')
    .option('--type <names>', 'for example tool_error or llm_call; comma-separated')
    .option('--severity <words>', 'debug, info, warn, error, critical; comma-separated')
    .option('--search <text>', 'text to find in the payload JSON, case-insensitive')
    .option('--from <time>', 'start: an instant, a date or an age such as 2h', when)
    .option('--to <time>', 'end: an instant, a date or an age such as 2h', when)
    .option('--limit <n>', 'maximum number of events', count, 50)
    .action(async ({ agent, run, type, severity, search, from, to, limit }) => {
      const client = await context.connect();
      const filter = { agentId: agent, sessionId: run, eventType: type, severity, search, from, to };
      await printList(context, {
        pages: pages(client.listEvents, { query: { ...filter, limit: Math.min(limit, PAGE) } }),
        itemsOf: ({ events }) => events,
        columns: EVENT_COLUMNS,
        none: 'No events match.',
        limit,
      });
    });
};

export const getEvent: DefineCommand = (command, context) => {
  command.argument('<id>', 'the event').action(async (id) => {
    const client = await context.connect();
    const event = await client.getEvent({ params: { id } });
    context.output.printDetails(event, [
      ['Event', event.id],
      ['At', instant(event.timestamp)],
      ['Type', event.eventType],
      ['Severity', event.severity],
      ['Agent', event.agentId],
      ['Run', event.sessionId],
      ['Tool', event.toolName],
      ['Model', event.model],
      ['Cost', usd(event.usage.costUsd)],
      ['Took', duration(event.usage.latencyMs)],
      ['Tags', event.tags.join(', ')],
      ['Payload', JSON.stringify(event.payload)],
      ['Metadata', JSON.stringify(event.metadata)],
    ]);
  });
};

const DECISION_COLUMNS: readonly Column<DecisionAnswer>[] = [
  { title: 'at', value: ({ decidedAt }) => instant(decidedAt) },
  { title: 'agent', value: ({ agentId }) => agentId },
  { title: 'run', value: ({ runId }) => runId },
  { title: 'what', value: ({ toolName, phase }) => toolName ?? phase },
  { title: 'with', value: ({ arguments: args }) => argumentLine(args) },
  { title: 'verdict', value: ({ verdict }) => verdict, tone: toneOf },
  { title: 'effect', value: ({ effect }) => effect, tone: toneOf },
  { title: 'would have', value: ({ wouldHave }) => wouldHave ?? '', tone: toneOf },
  { title: 'message', value: ({ message }) => message },
];

export const listDecisions: DefineCommand = (command, context) => {
  const when = instantBefore(context.host.nowMs);
  command
    .option('--agent <id>', 'only calls of this agent')
    .option('--run <id>', 'only calls of this run')
    .option('--rule <id>', 'only decisions in which this rule matched, enforced or in shadow')
    .option('--tool <name>', 'only calls of this tool')
    .option('--verdict <word>', 'ALLOW or BLOCK: the answer the agent received')
    .option('--effect <words>', 'allow, modify, ask, block, terminate: the effect on the call')
    .option('--would-have <words>', 'modify, ask, block, terminate: what shadow rules would have done')
    .option('--from <time>', 'start: an instant, a date or an age such as 2h', when)
    .option('--to <time>', 'end: an instant, a date or an age such as 2h', when)
    .option('--limit <n>', 'maximum number of decisions', count, 50)
    .addHelpText(
      'after',
      `\nTo see what shadow rules would have blocked: ${PROGRAM} decisions list --would-have block,terminate`,
    )
    .action(async ({ agent, run, rule, tool, verdict, effect, wouldHave, from, to, limit }) => {
      const client = await context.connect();
      const about = { agentId: agent, runId: run, ruleId: rule, toolName: tool };
      const query = { ...about, verdict, effect, wouldHave, from, to, limit: Math.min(limit, PAGE) };
      await printList(context, {
        pages: pages(client.listDecisions, { query }),
        itemsOf: ({ decisions }) => decisions,
        columns: DECISION_COLUMNS,
        none: 'No decisions match.',
        limit,
      });
    });
};

export const showDecision: DefineCommand = (command, context) => {
  command.argument('<id>', 'the decision').action(async (id) => {
    const client = await context.connect();
    const decision = await client.getDecision({ params: { id } });
    context.output.print(decision, () => decisionText(decision, context.output.layout));
  });
};

function decisionText(decision: DecisionAnswer, { paint }: Layout): string {
  const { verdict, control, effect, wouldHave, decider, latencyMs, bypasses } = decision;
  return details(
    [
      ['Decision', decision.id, 'strong'],
      ['At', instant(decision.decidedAt)],
      ['Agent', decision.agentId],
      ['Run', decision.runId],
      ['What', decision.toolName ?? decision.phase],
      ['Verdict', `${verdict} ${control}`, toneOf(verdict)],
      ['Effect', effect, toneOf(effect)],
      ['Would have', wouldHave],
      ['Message', decision.message],
      ['Rule', decision.finalRuleId],
      ['Not evaluated', bypasses.map(({ ruleId, why, did }) => `${ruleId} (${why}: ${did})`).join(', ')],
      ['Decided by', decider === undefined ? undefined : deciderText(decider)],
      ['Took', duration(latencyMs)],
    ],
    paint,
  );
}

function deciderText({ by, book, asked, askedForRule }: NonNullable<DecisionAnswer['decider']>): string {
  const because =
    asked === undefined ? '' : ` because of ${asked}${askedForRule === undefined ? '' : ` (rule ${askedForRule})`}`;
  if (by === 'evaluator') return asked === undefined ? 'the evaluator' : `the evaluator, asked${because}`;
  if (book !== undefined) return `the gateway, with rules as of version ${book}`;
  return `the gateway without rules: the evaluator${because === '' ? '' : `, asked${because},`} did not answer`;
}

const ASKED_COLUMNS: readonly Column<AnswerOf<'getDecisionPaths'>['asked'][number]>[] = [
  { title: 'decisions', value: ({ decisions }) => decisions, align: 'right' },
  { title: 'why the evaluator was asked', value: ({ why }) => why },
  { title: 'rule', value: ({ ruleName, ruleId }) => ruleName ?? ruleId },
  { title: 'advice', value: ({ advice }) => advice },
];

export const decisionPaths: DefineCommand = (command, context) => {
  const when = instantBefore(context.host.nowMs);
  command
    .option('--from <time>', 'start: an instant, a date or an age such as 2h (default: 1d)', when)
    .option('--to <time>', 'end: an instant, a date or an age such as 2h', when)
    .action(async ({ from, to }) => {
      const client = await context.connect();
      const answer = await client.getDecisionPaths({ query: { from, to } });
      context.output.print(answer, () => pathsText(answer, context.output.layout));
    });
};

function pathsText({ from, gateway, evaluator, unanswered, asked }: AnswerOf<'getDecisionPaths'>, layout: Layout) {
  const total = gateway + evaluator + unanswered;
  const share = (part: number) => (total === 0 ? `${part}` : `${part} (${((100 * part) / total).toFixed(1)} %)`);
  const head = details(
    [
      ['Since', instant(from)],
      ['Gateways', share(gateway)],
      ['Evaluator', share(evaluator)],
      ['Unanswered', share(unanswered)],
    ],
    layout.paint,
  );
  return asked.length === 0 ? head : `${head}\n\n${table(asked, ASKED_COLUMNS, layout)}`;
}

type AuditRow = AnswerOf<'listAudit'>['entries'][number];

const AUDIT_COLUMNS: readonly Column<AuditRow>[] = [
  { title: 'at', value: ({ changedAt }) => instant(changedAt) },
  { title: 'who', value: ({ actor }) => actor?.person ?? actor?.keyName ?? 'not known' },
  { title: 'did', value: ({ kind }) => kind },
  { title: 'id', value: ({ targetId }) => targetId },
  { title: 'fields', value: changedFields },
  { title: 'reason', value: ({ reason }) => reason },
];

export const audit: DefineCommand = (command, context) => {
  const when = instantBefore(context.host.nowMs);
  command
    .option('--actor <name>', 'a person, or the id or name of a key')
    .option('--kind <words>', 'kind of change, such as rule.changed or key.created; comma-separated')
    .option('--target <words>', 'kind of object, such as rule or budget; comma-separated')
    .option('--id <id>', 'only changes of the object with this id')
    .option('--from <time>', 'start: an instant, a date or an age such as 2h', when)
    .option('--to <time>', 'end: an instant, a date or an age such as 2h', when)
    .option('--limit <n>', 'maximum number of changes', count, 50)
    .addHelpText('after', '\nWith --json, each entry has the state before and after the change.')
    .action(async ({ actor, kind, target, id, from, to, limit }) => {
      const client = await context.connect();
      const query = { actor, kind, target, targetId: id, from, to, limit: Math.min(limit, PAGE) };
      await printList(context, {
        pages: pages(client.listAudit, { query }),
        itemsOf: ({ entries }) => entries,
        columns: AUDIT_COLUMNS,
        none: 'No changes match.',
        limit,
      });
    });
};

/** Names of the changed fields, if the entry has a state before and after. */
function changedFields({ before, after }: AuditRow): string {
  if (before === null || after === null) return '';
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name])).join(', ');
}

/** The facts of a post-mortem; Markdown, or the data with `--json`. */
export const incident: DefineCommand = (command, context) => {
  const when = instantBefore(context.host.nowMs);
  command
    .option('--from <time>', 'start: an instant, a date or an age such as 2h; default 24h', when)
    .option('--to <time>', 'end: an instant, a date or an age such as 1h', when)
    .action(async ({ from, to }) => {
      const client = await context.connect();
      const { markdown, ...facts } = await client.getIncident({ query: { from, to } });
      context.output.print(facts, () => markdown);
    });
};
