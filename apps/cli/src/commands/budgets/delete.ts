import type { CommandFile } from '../../command-file.ts';

export const define: CommandFile['define'] = (command, context) => {
  command.argument('<id>', 'the budget').action(async (id) => {
    const client = await context.connect();
    const { budget } = await client.getBudget({ params: { id } });
    await context.confirmByName(`Delete the budget ${id}? What was spent stays in the ledger.`, budget.name);
    const answer = await client.deleteBudget({ params: { id } });
    context.output.print(answer, () => `Deleted ${id}`);
  });
};
