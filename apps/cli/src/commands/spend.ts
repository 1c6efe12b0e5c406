import type { AnswerOf } from '../api-types.ts';
import type { CommandFile } from '../command-file.ts';
import { instant, usd } from '../output/format.ts';
import { type Column, table } from '../output/table.ts';
import { instantBefore } from '../parse/instant.ts';
import { oneOf } from '../parse/one-of.ts';

const GROUPS = ['agent', 'model', 'day'] as const;

interface SpendRow {
  readonly of: string;
  readonly costUsd: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

const COLUMNS: readonly Column<SpendRow>[] = [
  { title: 'of', value: ({ of }) => of },
  { title: 'cost', value: ({ costUsd }) => usd(costUsd), align: 'right' },
  { title: 'tokens in', value: ({ inputTokens }) => inputTokens, align: 'right' },
  { title: 'tokens out', value: ({ outputTokens }) => outputTokens, align: 'right' },
];

export const define: CommandFile['define'] = (command, context) => {
  const when = instantBefore(context.host.nowMs);
  command
    .option('--by <word>', GROUPS.join(', '), oneOf(GROUPS), 'agent')
    .option('--agent <id>', 'only of this agent')
    .option('--from <time>', 'an instant, a date or an age; 7d unless given', when)
    .option('--to <time>', 'an instant, a date or an age like 2h', when)
    .action(async ({ by, agent, from, to }) => {
      const client = await context.connect();
      const query = { agentId: agent, from: from ?? when('7d'), to, granularity: 'day' } as const;
      const metrics = await client.getMetrics({ query });
      const rows = rowsBy(by, metrics);
      const { output } = context;
      const answer = { from: metrics.from, to: metrics.to, totalUsd: metrics.tasks.costUsd, by, rows };
      output.print(answer, () => {
        const total = `${usd(answer.totalUsd)} from ${instant(answer.from)} to ${instant(answer.to)}`;
        return rows.length === 0 ? total : `${total}\n\n${table(rows, COLUMNS, output.layout)}`;
      });
    });
};

function rowsBy(group: (typeof GROUPS)[number], metrics: AnswerOf<'getMetrics'>): SpendRow[] {
  switch (group) {
    case 'agent':
      return metrics.agents.map(({ agentId, tasks }) => row(agentId, tasks)).sort(byCost);
    case 'model':
      return metrics.models.map((model) => row(model.model, model)).sort(byCost);
    case 'day':
      return metrics.buckets.map(({ timestamp, tasks }) => row(timestamp.slice(0, 10), tasks));
  }
}

function row(of: string, { costUsd, inputTokens, outputTokens }: Omit<SpendRow, 'of'>): SpendRow {
  return { of, costUsd, inputTokens, outputTokens };
}

function byCost(a: SpendRow, b: SpendRow): number {
  return b.costUsd - a.costUsd;
}
