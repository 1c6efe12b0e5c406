import { pages } from '@agentlens/client';
import type { AnswerOf, DefineCommand } from '../context.ts';
import { type Paint, type Tone, toneOf } from '../output/style.ts';
import { type Column, costOf, details, instant, table } from '../output/table.ts';
import { count, instantBefore } from '../parse.ts';
import { PAGE, printList } from './print-list.ts';

/** Rows that show a pause, kill or open breaker of an agent or run; empty while it runs freely. */
export function controlRows({ state, scope, scopeId, by, reason, since }: AnswerOf<'getAgent'>['control']) {
  if (state === 'running') return [];
  const rows: [string, string | undefined, Tone?][] = [
    ['Held', `${state}, the ${scope} ${scopeId}`, toneOf(state)],
    ['By', by],
    ['Why', reason],
    ['Since', since && String(instant(since))],
  ];
  return rows.filter(([, text]) => text !== undefined && text !== '');
}

function agentDetails(agent: AnswerOf<'getAgent'>, paint: Paint): string {
  return details(
    [
      ['Agent', agent.id, 'strong'],
      ['Name', agent.name],
      ['Description', agent.description],
      ...controlRows(agent.control),
      ['Model', agent.modelOverride && `overridden with ${agent.modelOverride}: ${agent.modelOverrideReason ?? ''}`],
      ['Tags', agent.tags.join(', ')],
      ['Tools', agent.tools.map(({ name }) => name).join(', ')],
      ['First seen', instant(agent.firstSeenAt)],
      ['Last seen', instant(agent.lastSeenAt)],
      ['Runs', agent.sessionCount],
      ['Events', `${agent.eventCount}, ${agent.errorCount} errors`],
      ['Cost', costOf(agent.totalCostUsd, agent.unpricedCalls)],
    ],
    paint,
  );
}

/** An agent without an event for this long is quiet, as in the console. */
const QUIET_MS = 5 * 60_000;

/** What stops an agent, or whether it was active recently. */
function stateOf({ control, lastSeenAt }: AnswerOf<'getAgent'>, nowMs: number): string {
  if (control.state !== 'running') return control.state;
  return nowMs - Date.parse(lastSeenAt) < QUIET_MS ? 'active' : 'quiet';
}

const agentColumns = (nowMs: number): readonly Column<AnswerOf<'getAgent'>>[] => [
  { title: 'id', value: ({ id }) => id },
  {
    title: 'state',
    value: (agent) => stateOf(agent, nowMs),
    tone: (text) => toneOf(text),
  },
  { title: 'last seen', value: ({ lastSeenAt }) => instant(lastSeenAt) },
  { title: 'runs', value: ({ sessionCount }) => sessionCount, align: 'right' },
  { title: 'events', value: ({ eventCount }) => eventCount, align: 'right' },
  { title: 'errors', value: ({ errorCount }) => errorCount, align: 'right' },
  { title: 'cost', value: ({ totalCostUsd, unpricedCalls }) => costOf(totalCostUsd, unpricedCalls), align: 'right' },
];

export const listAgents: DefineCommand = (command, context) => {
  command
    .option('--paused', 'only paused agents')
    .option('--limit <n>', 'maximum number of agents', count, PAGE)
    .action(async ({ paused, limit }) => {
      const client = await context.connect();
      await printList(context, {
        pages: pages(client.listAgents, { query: { paused, limit: Math.min(limit, PAGE) } }),
        itemsOf: ({ agents }) => agents,
        columns: agentColumns(context.host.nowMs()),
        none: 'No agents yet. An agent appears with its first event.',
        limit,
      });
    });
};

export const showAgent: DefineCommand = (command, context) => {
  command.argument('<id>', 'the agent').action(async (id) => {
    const client = await context.connect();
    const agent = await client.getAgent({ params: { id } });
    context.output.print(agent, () => agentDetails(agent, context.output.paint));
  });
};

type HealthRow = AnswerOf<'getAgentHealth'>;

const TRENDS: Readonly<Record<HealthRow['trend'], Tone | undefined>> = {
  improving: 'good',
  stable: undefined,
  degrading: 'bad',
};

const HEALTH_COLUMNS: readonly Column<HealthRow>[] = [
  { title: 'agent', value: ({ agentId }) => agentId },
  { title: 'score', value: ({ overallScore }) => Math.round(overallScore), align: 'right' },
  { title: 'trend', value: ({ trend }) => trend, tone: (_text, { trend }) => TRENDS[trend] },
  { title: 'runs', value: ({ sessionCount }) => sessionCount, align: 'right' },
  {
    title: 'weakest',
    value: ({ dimensions }) => dimensions.toSorted((a, b) => a.score - b.score)[0]?.description,
  },
];

export const agentHealth: DefineCommand = (command, context) => {
  command.argument('[id]', 'one agent; omit it to list all agents, lowest score first').action(async (id) => {
    const client = await context.connect();
    const agents =
      id === undefined ? (await client.getHealthOverview()).agents : [await client.getAgentHealth({ params: { id } })];
    context.output.printTable(agents, HEALTH_COLUMNS, 'No agent ran in the last 7 days.');
  });
};

export const unpauseAgent: DefineCommand = (command, context) => {
  command
    .argument('<id>', 'the agent')
    .option('--clear-model', 'also remove the model override')
    .action(async (id, { clearModel = false }) => {
      const client = await context.connect();
      const agent = await client.unpauseAgent({ params: { id }, body: { clearModelOverride: clearModel } });
      context.output.print(agent, () => agentDetails(agent, context.output.paint));
    });
};

type Deploy = AnswerOf<'listDeploys'>['deploys'][number];

const DEPLOY_COLUMNS: readonly Column<Deploy>[] = [
  { title: 'at', value: ({ at }) => instant(at) },
  { title: 'version', value: ({ version }) => version },
  { title: 'agent', value: ({ agentId }) => agentId ?? 'all' },
  { title: 'by', value: ({ by }) => by },
  { title: 'note', value: ({ note }) => note },
  { title: 'link', value: ({ url }) => url },
];

export const addDeploy: DefineCommand = (command, context) => {
  command
    .argument('<version>', 'the deployed version; repeating the latest one records nothing')
    .option(
      '--at <time>',
      'when it happened: an instant or an age such as 20m; default: now',
      instantBefore(context.host.nowMs),
    )
    .option('--agent <id>', 'the deployed agent; omit it if the deploy affects all agents')
    .option('--url <address>', 'link of the marker, such as a release')
    .option('--note <text>', 'what changed')
    .action(async (version, { agent, url, note, at }) => {
      const client = await context.connect();
      const deploy = await client.createDeploy({ body: { version, agentId: agent, url, note, at } });
      context.output.print(deploy, () => table([deploy], DEPLOY_COLUMNS, context.output.layout));
    });
};

export const listDeploys: DefineCommand = (command, context) => {
  const when = instantBefore(context.host.nowMs);
  command
    .option('--agent <id>', 'only deploys of this agent and of all agents')
    .option('--from <time>', 'start: an instant, a date or an age such as 7d', when)
    .option('--to <time>', 'end: an instant, a date or an age such as 2h', when)
    .option('--limit <n>', 'maximum number of deploys', count, 50)
    .action(async ({ agent, from, to, limit }) => {
      const client = await context.connect();
      const { deploys } = await client.listDeploys({
        query: { agentId: agent, from, to, limit: Math.min(limit, 200) },
      });
      context.output.printTable(deploys, DEPLOY_COLUMNS, 'No deploys are recorded.');
    });
};
