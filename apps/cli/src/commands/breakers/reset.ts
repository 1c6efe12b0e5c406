import { usageError } from '../../command-error.ts';
import type { CommandFile } from '../../command-file.ts';

export const define: CommandFile['define'] = (command, context) => {
  command
    .argument('<scope>', 'run or agent')
    .argument('<id>', 'of the run or agent')
    .action(async (scope, id) => {
      if (scope !== 'run' && scope !== 'agent') throw usageError(`"${scope}" is neither "run" nor "agent"`);
      const client = await context.connect();
      const answer = await client.resetBreaker({ params: { scope, id } });
      context.output.print(answer, () => `Closed the breaker of ${scope} ${id}. It starts counting again.`);
    });
};
