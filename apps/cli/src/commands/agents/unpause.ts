import type { CommandFile } from '../../command-file.ts';
import { agentDetails } from './details.ts';

export const define: CommandFile['define'] = (command, context) => {
  command
    .argument('<id>', 'the agent')
    .option('--clear-model', 'let it choose its model again, too')
    .action(async (id, { clearModel = false }) => {
      const client = await context.connect();
      const agent = await client.unpauseAgent({ params: { id }, body: { clearModelOverride: clearModel } });
      context.output.print(agent, () => agentDetails(agent, context.output.paint));
    });
};
