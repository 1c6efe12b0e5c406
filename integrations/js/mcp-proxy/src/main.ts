#!/usr/bin/env node
import { AgentLens } from '@agentlens/sdk';
import { acceptDefinitions } from './accept-definitions.ts';
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
  if (args[0] === 'accept') return await acceptDefinitions(args.slice(1), process.env, say);
  const { server, tags, environment, pin, waits, lens: options, how } = readCommand(args, process.env);
  const lens = await AgentLens.init({ ...options, logger: { warn: say } });
  const proxy = { server, tags, environment, pin, waitForApproval: waits };
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
