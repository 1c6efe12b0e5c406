import type { CommandFile } from '../../command-file.ts';
import { table } from '../../output/table.ts';
import { amount } from '../../parse/numbers.ts';
import { oneOf } from '../../parse/one-of.ts';
import { BUDGET_COLUMNS } from './columns.ts';

const SCOPES = ['run', 'session', 'agent', 'actor', 'tenant'] as const;
const PERIODS = ['total', 'day', 'week', 'month'] as const;

export const define: CommandFile['define'] = (command, context) => {
  command
    .argument('<name>', 'what to call it')
    .requiredOption('--scope <word>', SCOPES.join(', '), oneOf(SCOPES))
    .requiredOption('--limit <usd>', 'how much may be spent per period', amount)
    .option('--period <word>', PERIODS.join(', '), oneOf(PERIODS), 'total')
    .option('--of <id>', 'only of this one; without it each has a budget of its own')
    .action(async (name, { scope, limit, period, of }) => {
      const client = await context.connect();
      const budget = await client.createBudget({ body: { name, scope, limitUsd: limit, period, scopeId: of } });
      context.output.print(budget, () => table([budget], BUDGET_COLUMNS, context.output.layout));
    });
};
