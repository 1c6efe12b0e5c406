import { createHash, randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import type { CommandContext } from '../context.ts';
import { CommandError } from '../errors.ts';
import { clientWith } from '../platform-client.ts';
import { PROGRAM } from '../program-name.ts';

const EVERY_MS = 2_000;
const MAX_WAIT_MS = 10 * 60_000;

export interface CollectedKey {
  readonly key: string;
  readonly person: string;
}

/**
 * Gets a personal key: a person confirms in the console, and only this process has the secret that collects the key.
 *
 * @param via where the key is used; approval policies can exclude it
 */
export async function loginInConsole(context: CommandContext, url: string, via: 'cli' | 'mcp'): Promise<CollectedKey> {
  const { host, output } = context;
  const verifier = randomBytes(32).toString('base64url');
  const challenge = createHash('sha256').update(verifier).digest('base64url');
  const page = new URL(`${url.replace(/\/+$/, '')}/you/login`);
  page.search = new URLSearchParams({ challenge, name: `${via} on ${hostname()}`.slice(0, 100), via }).toString();
  output.note(
    `Open this page, sign in, and confirm if it shows the code ${challenge.slice(0, 4)} ${challenge.slice(4, 8)}:`,
  );
  output.note(page.href);
  const client = clientWith(undefined, context.clientOptions({ url, urlSource: 'login', keys: [] }));
  const until = host.nowMs() + MAX_WAIT_MS;
  while (host.nowMs() < until) {
    const { status, key, person = '' } = await client.collectLogin({ body: { verifier } });
    if (status === 'confirmed' && key !== undefined) return { key, person };
    await pause(EVERY_MS, undefined, { signal: host.signal });
  }
  throw new CommandError('No person confirmed the login within ten minutes', { hint: `Run ${PROGRAM} login again.` });
}
