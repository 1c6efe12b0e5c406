import { runStdio } from '@agentlens/mcp/stdio';
import type { CommandFile } from '../command-file.ts';
import { chooseKey, interruptible } from '../platform-client.ts';

export const define: CommandFile['define'] = (command, context) => {
  command
    .addHelpText(
      'after',
      '\nAn MCP client starts this itself: see docs/mcp.md for what to write into its configuration.',
    )
    .action(async () => {
      const { host } = context;
      const options = context.clientOptions(context.connection());
      await runStdio({
        url: options.connection.url,
        key: await chooseKey(options),
        signal: host.signal,
        fetch: interruptible(options),
        onError: (error) => host.stderr.write(`${error.message}\n`),
      });
    });
};
