import type { CommandFile } from '../../command-file.ts';
import { agentDetails } from './details.ts';

export const define: CommandFile['define'] = (command, context) => {
  command.argument('<id>', 'the agent').action(async (id) => {
    const client = await context.connect();
    const agent = await client.getAgent({ params: { id } });
    context.output.print(agent, () => agentDetails(agent, context.output.paint));
  });
};
