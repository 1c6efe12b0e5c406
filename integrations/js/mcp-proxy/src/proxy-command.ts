import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import type { AgentLensClient } from '@agentlens/sdk';
import { childEnvironment } from '@agentlens/sdk/adapter';
import type { ProxyOptions } from './guard-of.ts';
import { proxyStreams } from './proxy-stdio.ts';

/** How long a server may take to end when its client is gone, ms. */
const END_MS = 5_000;

/**
 * Starts a server as the client would, stands between the two on this process's own input and output, and answers the
 * server's exit code.
 */
export async function proxyStdio(
  lens: AgentLensClient,
  command: readonly [string, ...string[]],
  options: ProxyOptions,
): Promise<number> {
  const [program, ...args] = command;
  const child = spawn(program, args, {
    env: childEnvironment(process.env, options.environment),
    stdio: ['pipe', 'pipe', 'inherit'],
    shell: process.platform === 'win32',
  });
  const exited = new Promise<number>((resolve, reject) => {
    child.once('error', (error) => reject(new Error(`cannot start ${program}: ${error.message}`)));
    child.once('exit', (code, signal) => resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal])));
  });
  const pass = (signal: NodeJS.Signals) => child.kill(signal);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, pass);
  const proxied = proxyStreams(lens, options, {
    client: { input: process.stdin, output: process.stdout },
    server: { input: child.stdin, output: child.stdout },
  });
  // A client that is gone ends its server, also one that does not listen to the end of its input.
  void proxied.then(() => setTimeout(() => child.kill(), END_MS).unref());
  const [code] = await Promise.all([exited, Promise.race([proxied, exited])]);
  await proxied;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, pass);
  return code;
}
