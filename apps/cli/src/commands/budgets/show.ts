import type { CommandFile } from '../../command-file.ts';
import { table } from '../../output/table.ts';
import { BUDGET_COLUMNS, POT_COLUMNS } from './columns.ts';

export const define: CommandFile['define'] = (command, context) => {
  command
    .argument('<id>', 'the budget')
    .option('--of <id>', 'what one run, session, agent or end user spent')
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
