import type { AnswerOf } from '../../api-types.ts';
import type { CommandFile } from '../../command-file.ts';
import { duration, usd } from '../../output/format.ts';
import { toneOf } from '../../output/style.ts';
import { type Column, table } from '../../output/table.ts';

type TreeRow = AnswerOf<'getRunTree'>['runs'][number];

const COLUMNS: readonly Column<TreeRow>[] = [
  { title: 'run', value: ({ id, depth }) => `${'  '.repeat(depth)}${id}` },
  { title: 'agent', value: ({ agentId }) => agentId },
  { title: 'status', value: ({ status }) => status, tone: toneOf },
  { title: 'took', value: ({ durationMs }) => duration(durationMs), align: 'right' },
  { title: 'cost', value: ({ totals }) => usd(totals.costUsd), align: 'right' },
  { title: 'with children', value: ({ rolledUp }) => usd(rolledUp.costUsd), align: 'right' },
];

export const define: CommandFile['define'] = (command, context) => {
  command.argument('<id>', 'the run at the top').action(async (id) => {
    const client = await context.connect();
    const tree = await client.getRunTree({ params: { id } });
    context.output.print(tree, () => table(tree.runs, COLUMNS, context.output.layout));
    if (tree.truncated) context.output.note('The tree is larger: 1,000 runs, 20 levels deep, are shown at most.');
  });
};
