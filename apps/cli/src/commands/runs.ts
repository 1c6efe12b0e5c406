import { pages } from '@agentlens/client';
import { Option } from '@commander-js/extra-typings';
import type { AnswerOf, DefineCommand, RunAnswer } from '../context.ts';
import { usageError } from '../errors.ts';
import { type Tone, toneOf } from '../output/style.ts';
import { type Column, costOf, details, duration, instant, type Layout, table } from '../output/table.ts';
import { amount, count, instantBefore } from '../parse.ts';
import { controlRows } from './agents.ts';
import { eventText } from './events.ts';
import { giveOrder, type OrderState } from './orders.ts';
import { PAGE, printList } from './print-list.ts';

const SORTS = ['started', 'duration', 'cost', 'tokens', 'steps', 'errors'] as const;

export const RUN_COLUMNS: readonly Column<RunAnswer>[] = [
  { title: 'id', value: ({ id }) => id },
  { title: 'agent', value: ({ agentId }) => agentId },
  { title: 'status', value: ({ status, idle }) => (idle ? `${status} (idle)` : status), tone: toneOf },
  { title: 'started', value: ({ startedAt }) => instant(startedAt) },
  { title: 'took', value: ({ durationMs }) => duration(durationMs), align: 'right' },
  { title: 'steps', value: ({ totals }) => totals.steps, align: 'right' },
  { title: 'errors', value: ({ totals }) => totals.errors, align: 'right' },
  { title: 'cost', value: ({ totals }) => costOf(totals.costUsd, totals.unpricedCalls), align: 'right' },
];

export const listRuns: DefineCommand = (command, context) => {
  const when = instantBefore(context.host.nowMs);
  command
    .option('--agent <id>', 'only runs of this agent')
    .option(
      '--status <words>',
      'running, succeeded, failed, timed_out, cancelled, interrupted, lost, killed; comma-separated',
    )
    .option('--model <name>', 'only runs that used this model')
    .option('--tags <names>', 'runs with any of these tags, comma-separated')
    .option('--all-tags <names>', 'only runs with all of these tags, such as project=shop,branch=main')
    .option('--rule <id>', 'only runs in which this rule fired or decided')
    .option('--min-cost <usd>', 'only runs that cost at least this much', amount)
    .option('--search <text>', 'only runs whose id, agent, session, actor or tags contain this text')
    .option('--errors', 'only runs that failed or hold an error')
    .option('--blocked', 'only runs with a blocked call')
    .addOption(
      new Option('--sort <what>', 'order of the list, highest first').choices(SORTS).default('started' as const),
    )
    .option('--from <time>', 'started after: an instant, a date or an age such as 2h', when)
    .option('--to <time>', 'started before: an instant, a date or an age such as 2h', when)
    .option('--limit <n>', 'maximum number of runs', count, 50)
    .action(async ({ agent, allTags, rule, minCost, errors, blocked, limit, ...same }) => {
      const client = await context.connect();
      const filter = { ...same, agentId: agent, tagsAll: allTags, ruleId: rule, minCostUsd: minCost };
      const flags = { hasError: errors, wasBlocked: blocked };
      await printList(context, {
        pages: pages(client.listRuns, { query: { ...filter, ...flags, limit: Math.min(limit, PAGE) } }),
        itemsOf: ({ runs }) => runs,
        columns: RUN_COLUMNS,
        none: 'No runs match.',
        limit,
      });
    });
};

const HIT_COLUMNS: readonly Column<AnswerOf<'searchText'>['hits'][number]>[] = [
  { title: 'at', value: ({ at }) => instant(at) },
  { title: 'run', value: ({ runId }) => runId },
  { title: 'agent', value: ({ agentId }) => agentId },
  { title: 'event', value: ({ kind, name }) => (name === undefined ? kind : `${kind} ${name}`) },
  { title: 'text', value: ({ excerpt }) => excerpt },
];

export const searchRuns: DefineCommand = (command, context) => {
  const when = instantBefore(context.host.nowMs);
  command
    .argument('<text>', 'at least 3 characters, in any case')
    .option('--agent <id>', 'only events of this agent')
    .option('--run <id>', 'only events of this run')
    .option('--from <time>', 'since: an instant, a date or an age such as 2h (default: 7d)', when)
    .option('--to <time>', 'until: an instant, a date or an age such as 2h', when)
    .option('--limit <n>', 'maximum number of events', count, 20)
    .action(async (text, { agent, run, from, to, limit }) => {
      const client = await context.connect();
      const query = { text, agentId: agent, runId: run, from, to, limit: Math.min(limit, 100) };
      const answer = await client.searchText({ query });
      const { output } = context;
      output.printTable(answer.hits, HIT_COLUMNS, `No event since ${instant(answer.searchedFrom)} has this text.`);
      if (!answer.complete)
        output.note(`Searched back to ${instant(answer.searchedFrom)}. For older events: --to ${answer.searchedFrom}`);
    });
};

export type Entry = AnswerOf<'getRunTimeline'>['entries'][number];

const TIMELINE_COLUMNS: readonly Column<Entry>[] = [
  { title: 'at', value: ({ at }) => instant(at) },
  { title: 'kind', value: ({ type }) => type, tone: (_text, entry) => toneOfEntry(entry) },
  { title: 'what happened', value: entryText },
];

function entryText(entry: Entry): string {
  switch (entry.type) {
    case 'event':
      return eventText(entry.event);
    case 'decision':
      return `${entry.decision.verdict} ${entry.decision.toolName ?? entry.decision.phase}: ${entry.decision.message}`;
    case 'trigger':
      return `"${entry.trigger.ruleName}" fired: ${entry.trigger.metadata.message}`;
    case 'alert':
      return `${entry.moment}: ${entry.alert.title} (${entry.alert.status})`;
    case 'order':
      return `${entry.order.state} by ${entry.order.by}${entry.order.reason === '' ? '' : `: ${entry.order.reason}`}`;
    case 'breaker':
      return `circuit breaker of the ${entry.breaker.scope} is ${entry.breaker.state.kind}`;
  }
}

function toneOfEntry(entry: Entry): Tone | undefined {
  if (entry.type === 'event') return entry.event.isError ? 'bad' : 'quiet';
  if (entry.type === 'decision') return entry.decision.verdict === 'BLOCK' ? 'bad' : 'good';
  return 'warning';
}

export const showRun: DefineCommand = (command, context) => {
  command
    .argument('<id>', 'the run')
    .option('--limit <n>', 'maximum number of timeline entries', count, 100)
    .action(async (id, { limit }) => {
      const client = await context.connect();
      const run = await client.getRun({ params: { id } });
      const entries: Entry[] = [];
      const query = { limit: Math.min(limit, 200) };
      for await (const page of pages(client.getRunTimeline, { params: { id }, query })) {
        entries.push(...page.entries);
        if (entries.length >= limit) break;
      }
      const timeline = entries.slice(0, limit);
      const { output } = context;
      output.print({ run, timeline }, () => runText(run, timeline, output.layout));
      if (entries.length > limit) output.note(`The timeline continues. To read further: --limit ${limit * 4}`);
    });
};

function runText(run: AnswerOf<'getRun'>, timeline: readonly Entry[], layout: Layout): string {
  const { totals } = run;
  const head = details(
    [
      ['Run', run.id, 'strong'],
      ['Agent', run.agentId],
      ['Status', run.status, toneOf(run.status)],
      ...controlRows(run.control),
      ['Started', instant(run.startedAt)],
      ['Took', duration(run.durationMs)],
      ['Model', run.model],
      ['Parent', run.parentRunId],
      ['Calls', `${totals.toolCalls} tool calls, ${totals.llmCalls} model calls, ${totals.errors} errors`],
      ['Tokens', `${totals.inputTokens} in, ${totals.outputTokens} out`],
      ['Cost', costOf(totals.costUsd, totals.unpricedCalls)],
    ],
    layout.paint,
  );
  return timeline.length === 0 ? head : `${head}\n\n${table(timeline, TIMELINE_COLUMNS, layout)}`;
}

type Label = AnswerOf<'getRunLabels'>['labels'][number];

type TreeRow = AnswerOf<'getRunTree'>['runs'][number] & { readonly labels: readonly string[] };

const TREE_COLUMNS: readonly Column<TreeRow>[] = [
  { title: 'run', value: ({ id, depth }) => `${'  '.repeat(depth)}${id}` },
  { title: 'agent', value: ({ agentId }) => agentId },
  { title: 'status', value: ({ status }) => status, tone: toneOf },
  { title: 'took', value: ({ durationMs }) => duration(durationMs), align: 'right' },
  { title: 'children', value: ({ childCount }) => childCount || undefined, align: 'right' },
  { title: 'cost', value: ({ totals }) => costOf(totals.costUsd, totals.unpricedCalls), align: 'right' },
  { title: 'with children', value: ({ rolledUp }) => costOf(rolledUp.costUsd, rolledUp.unpricedCalls), align: 'right' },
  { title: 'set label', value: ({ labels }) => labels.join(', '), tone: () => 'warning' },
];

export const showRunTree: DefineCommand = (command, context) => {
  command.argument('<id>', 'the root run').action(async (id) => {
    const client = await context.connect();
    const [tree, { labels }, { limits }] = await Promise.all([
      client.getRunTree({ params: { id } }),
      client.getRunLabels({ params: { id } }),
      client.getTreeLimits(),
    ]);
    const setBy = Map.groupBy(labels, ({ source }) => source.runId);
    const rows = tree.runs.map((run) => ({ ...run, labels: (setBy.get(run.id) ?? []).map(({ label }) => label) }));
    context.output.print({ ...tree, labels, limits }, () => table(rows, TREE_COLUMNS, context.output.layout));
    if (Object.values(limits).some((limit) => limit !== null)) {
      context.output.note(`Limits of a tree: ${limitWords(limits)}.`);
    }
    if (tree.truncated) context.output.note('The tree is truncated at 1,000 runs and 20 levels.');
  });
};

type TreeLimits = AnswerOf<'getTreeLimits'>['limits'];

function limitWords({ maxDepth, maxChildren, maxRuns }: TreeLimits): string {
  const words = (limit: number | null, what: string) =>
    `${limit === null ? 'any number of' : `at most ${limit}`} ${what}`;
  return [words(maxDepth, 'ancestors'), words(maxChildren, 'children of a run'), words(maxRuns, 'runs')].join(', ');
}

/** Parses a limit. */
function limitOrNone(text: string): number | 'none' {
  if (text === 'none') return text;
  return text === '0' ? 0 : count(text);
}

export const treeLimits: DefineCommand = (command, context) => {
  command
    .option('--max-depth <n>', 'most ancestors of a run, or none', limitOrNone)
    .option('--max-children <n>', 'most runs that one run starts, or none', limitOrNone)
    .option('--max-runs <n>', 'most runs of a tree with its root, or none', limitOrNone)
    .action(async (given) => {
      const client = await context.connect();
      const stored = await client.getTreeLimits();
      const changes = Object.fromEntries(
        Object.entries(given).map(([name, limit]) => [name, limit === 'none' ? null : limit]),
      );
      if (Object.keys(changes).length === 0) {
        context.output.print(stored, () => `Limits of a tree: ${limitWords(stored.limits)}.`);
        return;
      }
      const answer = await client.setTreeLimits({ body: { limits: { ...stored.limits, ...changes } } });
      context.output.print(answer, () => `Limits of a tree from now on: ${limitWords(answer.limits)}.`);
    });
};

const LABEL_COLUMNS: readonly Column<Label>[] = [
  { title: 'label', value: ({ label }) => label, tone: () => 'warning' },
  { title: 'since', value: ({ source }) => instant(source.at) },
  { title: 'set by tool', value: ({ source }) => source.toolName },
  { title: 'agent', value: ({ source }) => source.agentId },
  { title: 'run', value: ({ source }) => source.runId },
  { title: 'call', value: ({ source }) => source.callId },
];

export const runLabels: DefineCommand = (command, context) => {
  command
    .argument('<run>', 'any run of the tree')
    .option('--clear <label>', 'clear this label, so that its rules no longer match')
    .option('--reason <text>', 'reason for clearing the label; recorded in the audit log')
    .action(async (id, { clear, reason }) => {
      if (clear !== undefined && reason === undefined) throw usageError('--clear requires --reason <text>');
      const client = await context.connect();
      if (clear !== undefined && reason !== undefined) {
        const answer = await client.clearRunLabel({ params: { id, label: clear }, body: { reason } });
        context.output.print(answer, () => `Cleared the label ${clear} of the tree of ${id}.`);
        return;
      }
      const answer = await client.getRunLabels({ params: { id } });
      context.output.print(answer, () =>
        answer.labels.length === 0
          ? `No label stands on the tree of ${id}.`
          : table(answer.labels, LABEL_COLUMNS, context.output.layout),
      );
    });
};

/** Defines a command that orders a state for one run: `agentlens runs pause run-1`. */
function runOrderCommand(state: OrderState): DefineCommand {
  return (command, context) => {
    command
      .argument('<id>', 'the run')
      .option('--reason <text>', 'reason, shown with the order')
      .option('--no-wait', 'do not wait for the acknowledgement')
      .action((id, { reason, wait }) => giveOrder(context, { scope: 'run', id, state, reason, wait }));
  };
}

export const pauseRun = runOrderCommand('paused');

export const resumeRun = runOrderCommand('running');

export const killRun = runOrderCommand('killed');
