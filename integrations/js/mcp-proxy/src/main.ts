#!/usr/bin/env node
import { AgentLens } from '@agentlens/sdk';
import { readCommand, USAGE } from './command-line.ts';
import { proxyStdio } from './proxy-command.ts';
import { serveHttp } from './serve-http.ts';

// Standard output belongs to the protocol: what is said here goes to standard error.
const say = (message: string) => console.error(`agentlens-mcp: ${message}`);

async function main(): Promise<number> {
  const args = process.argv.slice(2);
  if (args.includes('--help')) {
    console.error(USAGE);
    return 0;
  }
  const { server, tags, environment, waits, lens: options, how } = readCommand(args, process.env);
  const lens = await AgentLens.init({ ...options, logger: { warn: say } });
  const proxy = { server, tags, environment, waitForApproval: waits };
  try {
    if (how.kind === 'stdio') return await proxyStdio(lens, how.command, proxy);
    const served = await serveHttp(lens, how, proxy, say);
    await new Promise((resolve) => {
      for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, resolve);
    });
    await served.close();
    return 0;
  } finally {
    await lens.shutdown();
  }
}

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    say(error instanceof Error ? error.message : String(error));
    console.error(`\n${USAGE}`);
    process.exit(2);
  },
);
