import { runStdio } from '@agentlens/mcp/stdio';
import type { CommandFile } from '../command-file.ts';
import { chooseKey, clientWith } from '../platform-client.ts';

export const define: CommandFile['define'] = (command, context) => {
  command
    .addHelpText('after', '\nFor MCP clients, which start it themselves: {"command": "agentlens", "args": ["mcp"]}')
    .action(async () => {
      const { host, output } = context;
      const options = context.clientOptions(context.connection());
      const key = await chooseKey(options);
      // Asked first: a client shows its user little of a server that ends later.
      await clientWith(key, options).getMe();
      host.signal.addEventListener('abort', () => host.stdin.destroy());
      const onError = ({ message }: Error) => output.note(message);
      await runStdio({ url: options.connection.url, key, onError });
    });
};
