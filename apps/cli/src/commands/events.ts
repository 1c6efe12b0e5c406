import { pages } from '@agentlens/client';
import type { AnswerOf, DecisionAnswer, DefineCommand } from '../context.ts';
import { toneOf } from '../output/output.ts';
import { type Column, duration, instant, usd } from '../output/table.ts';
import { count, instantBefore } from '../parse.ts';
import { PAGE, printList } from './print-list.ts';

/** What an event is about, in one line. */
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
    .option('--type <names>', 'like tool_error or llm_call; several with commas')
    .option('--severity <words>', 'debug, info, warn, error, critical; several with commas')
    .option('--search <text>', 'part of the JSON text of the payload, any case')
    .option('--from <time>', 'an instant, a date or an age like 2h', when)
    .option('--to <time>', 'an instant, a date or an age like 2h', when)
    .option('--limit <n>', 'at most this many', count, 50)
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
  { title: 'verdict', value: ({ verdict }) => verdict, tone: toneOf },
  { title: 'effect', value: ({ effect }) => effect, tone: toneOf },
  { title: 'would have', value: ({ wouldHave }) => wouldHave ?? '', tone: toneOf },
  { title: 'message', value: ({ message }) => message },
];

export const listDecisions: DefineCommand = (command, context) => {
  const when = instantBefore(context.host.nowMs);
  command
    .option('--agent <id>', 'only about calls of this agent')
    .option('--run <id>', 'only about calls of this run')
    .option('--rule <id>', 'only where this rule matched, enforced or in shadow')
    .option('--tool <name>', 'only about this tool')
    .option('--verdict <word>', 'ALLOW or BLOCK: what the agent was told')
    .option('--effect <words>', 'allow, modify, ask, block, terminate: what was done to the call')
    .option('--would-have <words>', 'modify, ask, block, terminate: what rules in shadow would have done')
    .option('--from <time>', 'an instant, a date or an age like 2h', when)
    .option('--to <time>', 'an instant, a date or an age like 2h', when)
    .option('--limit <n>', 'at most this many', count, 50)
    .addHelpText(
      'after',
      '\nWhat shadow rules would have blocked: agentlens decisions list --would-have block,terminate',
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
    .option('--kind <words>', 'what was done, like rule.changed or key.created; several with commas')
    .option('--target <words>', 'what was changed, like rule or budget; several with commas')
    .option('--id <id>', 'only changes of this one')
    .option('--from <time>', 'an instant, a date or an age like 2h', when)
    .option('--to <time>', 'an instant, a date or an age like 2h', when)
    .option('--limit <n>', 'at most this many', count, 50)
    .addHelpText('after', '\nWith --json each entry says what was before and what is since.')
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

/** The names of what is different, where there is a before and an after. */
function changedFields({ before, after }: AuditRow): string {
  if (before === null || after === null) return '';
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name])).join(', ');
}
