import { pages } from '@agentlens/client';
import type { AnswerOf, DefineCommand } from '../context.ts';
import { toneOf } from '../output/style.ts';
import { type Column, instant, table, usd } from '../output/table.ts';
import { amount, count, instantBefore, oneOf } from '../parse.ts';
import { PAGE, printList } from './print-list.ts';

type BudgetRow = AnswerOf<'listBudgets'>['budgets'][number];

const BUDGET_COLUMNS: readonly Column<BudgetRow>[] = [
  { title: 'id', value: ({ id }) => id },
  { title: 'name', value: ({ name }) => name },
  { title: 'of', value: ofWhom },
  { title: 'period', value: ({ period }) => period },
  { title: 'limit', value: ({ limitUsd }) => usd(limitUsd), align: 'right' },
  { title: 'enabled', value: ({ enabled }) => enabled, tone: toneOf },
];

type Pot = AnswerOf<'getBudget'>['pots'][number];

const POT_COLUMNS: readonly Column<Pot>[] = [
  { title: 'of', value: ({ scopeId }) => scopeId },
  { title: 'since', value: ({ periodStart }) => periodStart },
  { title: 'spent', value: ({ spentUsd }) => usd(spentUsd), align: 'right' },
  { title: 'reserved', value: ({ reservedUsd }) => usd(reservedUsd), align: 'right' },
  { title: 'left', value: ({ remainingUsd }) => usd(remainingUsd), align: 'right' },
  { title: 'unpriced calls', value: ({ unpricedCalls }) => unpricedCalls, align: 'right' },
  { title: 'estimated', value: ({ estimatedUsd }) => usd(estimatedUsd), align: 'right' },
];

function ofWhom({ scope, scopeId }: BudgetRow): string {
  if (scope === 'tenant') return 'the tenant';
  return scopeId === undefined ? `each ${scope}` : `${scope} ${scopeId}`;
}

export const listBudgets: DefineCommand = (command, context) => {
  command
    .option('--scope <words>', 'run, tree, session, agent, actor, tenant; comma-separated')
    .option('--limit <n>', 'maximum number of budgets', count, 50)
    .action(async ({ scope, limit }) => {
      const client = await context.connect();
      await printList(context, {
        pages: pages(client.listBudgets, { query: { scope, limit: Math.min(limit, PAGE) } }),
        itemsOf: ({ budgets }) => budgets,
        columns: BUDGET_COLUMNS,
        none: 'No budgets match.',
        limit,
      });
    });
};

export const showBudget: DefineCommand = (command, context) => {
  command
    .argument('<id>', 'the budget')
    .option('--of <id>', 'show the spend of one run, session, agent or end user')
    .action(async (id, { of }) => {
      const client = await context.connect();
      const answer = await client.getBudget({ params: { id }, query: { scopeId: of } });
      const { output } = context;
      output.print(answer, () => {
        const head = table([answer.budget], BUDGET_COLUMNS, output.layout);
        return answer.pots.length === 0 ? head : `${head}\n\n${table(answer.pots, POT_COLUMNS, output.layout)}`;
      });
    });
};

const SCOPES = ['run', 'tree', 'session', 'agent', 'actor', 'tenant'] as const;
const PERIODS = ['total', 'day', 'week', 'month'] as const;
const ON_UNPRICED = ['allow', 'estimate', 'block'] as const;
const FREE_CALLS = ['allow', 'block'] as const;

export const createBudget: DefineCommand = (command, context) => {
  command
    .argument('<name>', 'name of the budget')
    .requiredOption('--scope <word>', SCOPES.join(', '), oneOf(SCOPES))
    .requiredOption('--limit <usd>', 'maximum spend per period, in USD', amount)
    .option('--period <word>', PERIODS.join(', '), oneOf(PERIODS), 'total')
    .option('--of <id>', 'limit this one id; omit it to give each its own budget')
    .option('--on-unpriced <word>', ON_UNPRICED.join(', '), oneOf(ON_UNPRICED), 'estimate')
    .option(
      '--free-calls <word>',
      'calls estimated at 0 USD when the budget is spent: allow, block',
      oneOf(FREE_CALLS),
      'allow',
    )
    .action(async (name, { scope, limit, period, of, onUnpriced, freeCalls }) => {
      const client = await context.connect();
      const budget = await client.createBudget({
        body: { name, scope, limitUsd: limit, period, scopeId: of, onUnpriced, freeCalls },
      });
      context.output.print(budget, () => table([budget], BUDGET_COLUMNS, context.output.layout));
    });
};

export const updateBudget: DefineCommand = (command, context) => {
  command
    .argument('<id>', 'the budget')
    .requiredOption('--limit <usd>', 'new maximum spend per period, in USD; what was spent is kept', amount)
    .action(async (id, { limit }) => {
      const client = await context.connect();
      const budget = await client.updateBudget({ params: { id }, body: { limitUsd: limit } });
      context.output.print(budget, () => table([budget], BUDGET_COLUMNS, context.output.layout));
    });
};

export const deleteBudget: DefineCommand = (command, context) => {
  command.argument('<id>', 'the budget').action(async (id) => {
    const client = await context.connect();
    const { budget } = await client.getBudget({ params: { id } });
    await context.confirmByName(`Delete the budget ${id}? The recorded spend stays in the ledger.`, budget.name);
    const answer = await client.deleteBudget({ params: { id } });
    context.output.print(answer, () => `Deleted ${id}`);
  });
};

const GROUPS = ['agent', 'model', 'day', 'actor'] as const;

interface SpendRow {
  readonly of: string;
  readonly costUsd: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

const SPEND_COLUMNS: readonly Column<SpendRow>[] = [
  { title: 'of', value: ({ of }) => of },
  { title: 'cost', value: ({ costUsd }) => usd(costUsd), align: 'right' },
  { title: 'tokens in', value: ({ inputTokens }) => inputTokens, align: 'right' },
  { title: 'tokens out', value: ({ outputTokens }) => outputTokens, align: 'right' },
];

export const spend: DefineCommand = (command, context) => {
  const when = instantBefore(context.host.nowMs);
  command
    .option('--by <word>', GROUPS.join(', '), oneOf(GROUPS), 'agent')
    .option('--agent <id>', 'only spend of this agent')
    .option('--from <time>', 'start: an instant, a date or an age; default 7d', when)
    .option('--to <time>', 'end: an instant, a date or an age such as 2h', when)
    .action(async ({ by, agent, from, to }) => {
      const client = await context.connect();
      const query = { agentId: agent, from: from ?? when('7d'), to, granularity: 'day' } as const;
      const metrics = await client.getMetrics({ query });
      const rows =
        by === 'actor' ? rowsByActor(await client.getSpend({ query: { ...query, by } })) : rowsBy(by, metrics);
      const { output } = context;
      const answer = { from: metrics.from, to: metrics.to, totalUsd: metrics.tasks.costUsd, by, rows };
      output.print(answer, () => {
        const total = `${usd(answer.totalUsd)} from ${instant(answer.from)} to ${instant(answer.to)}`;
        return rows.length === 0 ? total : `${total}\n\n${table(rows, SPEND_COLUMNS, output.layout)}`;
      });
    });
};

function rowsBy(group: Exclude<(typeof GROUPS)[number], 'actor'>, metrics: AnswerOf<'getMetrics'>): SpendRow[] {
  switch (group) {
    case 'agent':
      return metrics.agents.map(({ agentId, tasks }) => row(agentId, tasks)).sort(byCost);
    case 'model':
      return metrics.models.map((model) => row(withProvider(model), model)).sort(byCost);
    case 'day':
      return metrics.buckets.map(({ timestamp, tasks }) => row(timestamp.slice(0, 10), tasks));
  }
}

/** The largest first, as the platform returns them. */
function rowsByActor({ groups }: AnswerOf<'getSpend'>): SpendRow[] {
  return groups.map(({ key, ...spent }) => row(key === '' ? '(no end user)' : key, spent));
}

/** The same model of two providers has two prices. */
function withProvider({ model, provider }: { readonly model: string; readonly provider: string | null }): string {
  return provider === null || provider === '' ? model : `${model} (${provider})`;
}

function row(of: string, { costUsd, inputTokens, outputTokens }: Omit<SpendRow, 'of'>): SpendRow {
  return { of, costUsd, inputTokens, outputTokens };
}

function byCost(a: SpendRow, b: SpendRow): number {
  return b.costUsd - a.costUsd;
}
