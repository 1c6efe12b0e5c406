import { pages } from '@agentlens/client';
import type { AnswerOf, DefineCommand } from '../context.ts';
import { usageError } from '../errors.ts';
import { toneOf } from '../output/style.ts';
import { type Column, instant, table, usd } from '../output/table.ts';
import { count } from '../parse.ts';
import { PAGE, printList } from './print-list.ts';

const BREAKER_COLUMNS: readonly Column<AnswerOf<'listBreakers'>['breakers'][number]>[] = [
  { title: 'scope', value: ({ scope }) => scope },
  { title: 'id', value: ({ scopeId }) => scopeId },
  { title: 'agent', value: ({ agentId }) => agentId },
  { title: 'state', value: ({ state }) => state.kind, tone: toneOf },
  { title: 'why', value: ({ state }) => (state.kind === 'closed' ? undefined : state.reason) },
  { title: 'changed', value: ({ changedAt }) => instant(changedAt) },
];

export const listBreakers: DefineCommand = (command, context) => {
  command
    .option('--scope <words>', 'run, tree, agent; comma-separated')
    .option('--agent <id>', 'only breakers of this agent')
    .option('--state <words>', 'closed, open, half_open; comma-separated')
    .option('--limit <n>', 'maximum number of breakers', count, 50)
    .action(async ({ scope, agent, state, limit }) => {
      const client = await context.connect();
      const query = { scope, agentId: agent, state, limit: Math.min(limit, PAGE) };
      await printList(context, {
        pages: pages(client.listBreakers, { query }),
        itemsOf: ({ breakers }) => breakers,
        columns: BREAKER_COLUMNS,
        none: 'No breakers match. A breaker is listed after it opens for the first time.',
        limit,
      });
    });
};

const BREAKER_SCOPES = ['run', 'tree', 'agent'] as const;

function isScope(word: string): word is (typeof BREAKER_SCOPES)[number] {
  return BREAKER_SCOPES.some((scope) => scope === word);
}

type Limits = AnswerOf<'getBreakerLimits'>['defaults'];

interface LimitsRow {
  readonly of: string;
  readonly limits: Limits;
}

const LIMIT_COLUMNS: readonly Column<LimitsRow>[] = [
  { title: 'of', value: ({ of }) => of },
  { title: 'tokens', value: ({ limits }) => limits.maxTokens, align: 'right' },
  { title: 'iterations', value: ({ limits }) => limits.maxIterations, align: 'right' },
  { title: 'cost', value: ({ limits }) => usd(limits.maxCostUsd), align: 'right' },
  { title: 'failures', value: ({ limits }) => limits.maxConsecutiveFailures, align: 'right' },
  { title: 'confidence drop', value: ({ limits }) => limits.maxConfidenceDrop ?? 'not watched', align: 'right' },
  { title: 'probe after', value: ({ limits }) => limits.probeAfterSeconds && `${limits.probeAfterSeconds} s` },
];

export const breakerLimits: DefineCommand = (command, context) => {
  command.action(async () => {
    const client = await context.connect();
    const answer = await client.getBreakerLimits();
    context.output.print(answer, () => {
      const set = answer.limits.map(({ scope, scopeId, limits }) => ({
        ...{ of: scope === 'tree' ? 'each run tree' : `${scope} ${scopeId}`, limits },
      }));
      return table([...set, { of: 'every other run', limits: answer.defaults }], LIMIT_COLUMNS, context.output.layout);
    });
  });
};

export const resetBreaker: DefineCommand = (command, context) => {
  command
    .argument('<scope>', BREAKER_SCOPES.join(', '))
    .argument('<id>', 'id of the run or agent, or of a run of the tree')
    .action(async (scope, id) => {
      if (!isScope(scope)) throw usageError(`"${scope}" must be "run", "tree" or "agent"`);
      const client = await context.connect();
      const answer = await client.resetBreaker({ params: { scope, id } });
      context.output.print(answer, () => `Closed the breaker of ${scope} ${id}. Its counters start from zero.`);
    });
};
