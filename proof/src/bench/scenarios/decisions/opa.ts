import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@agentlens/testing';
import { until } from '../../../harness/time.ts';

export const OPA_PATH = '/v1/data/agentlens/answer';
const START_MS = 15_000;

/** Ten rules that look for a name in the name of the tool, like `TEN`. */
const POLICY = `package agentlens

default answer := "ALLOW"

answer := "BLOCK" if count(violated) > 0

${Array.from({ length: 10 }, (_, n) => `violated contains ${n} if contains(input.tool.name, "forbidden-${n}")`).join('\n')}
`;

export interface Opa {
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts `opa run --server` with equivalent rules. Undefined if there is no program `opa` here. */
export async function startOpa(): Promise<Opa | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'agentlens-opa-'));
  await writeFile(join(folder, 'policy.rego'), POLICY);
  const address = `127.0.0.1:${await freePort()}`;
  const server = spawn('opa', ['run', '--server', '--log-level=error', `--addr=${address}`, folder], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const stop = async () => {
    await ended(server);
    await rm(folder, { recursive: true, force: true });
  };
  const started = await once(server, 'spawn').then(
    () => true,
    () => false,
  );
  if (!started) {
    await rm(folder, { recursive: true, force: true });
    return undefined;
  }
  const url = `http://${address}`;
  const isReady = async () => {
    const answer = await fetch(`${url}/health`).catch(() => undefined);
    return answer?.ok === true ? true : undefined;
  };
  await until('OPA to start', isReady, START_MS).catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  return { url, stop };
}

async function ended(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null) return;
  const exit = once(server, 'exit');
  server.kill();
  await exit;
}
