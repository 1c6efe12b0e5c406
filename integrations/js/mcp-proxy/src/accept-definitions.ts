import { parseArgs } from 'node:util';
import { isRecord } from './json-rpc.ts';
import { pinsFile, ToolPins } from './pins.ts';

const TIMEOUT_MS = 10_000;

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * `agentlens-mcp accept`: shows the definitions that wait, and accepts those that are named. The key needs the scope
 * `review`. Answers the exit code.
 *
 * @throws Error if the key may not review, or the platform does not answer
 */
export async function acceptDefinitions(
  args: readonly string[],
  env: Environment,
  say: (message: string) => void,
): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { server: { type: 'string' }, pins: { type: 'string' } },
  });
  if (values.server === undefined) throw new Error('missing: --server <name>');
  const pins = new ToolPins(values.pins ?? pinsFile(values.server, env));
  if (positionals.length === 0) {
    for (const { tool, what, difference } of pins.waiting) say(`${tool} is ${what}\n  ${difference.join('\n  ')}`);
    if (pins.waiting.length === 0) say('no definition waits');
    return 0;
  }
  await needReviewer(env);
  const unknown = positionals.filter((tool) => !pins.accept(tool));
  for (const tool of unknown) say(`${tool} does not wait`);
  return unknown.length === 0 ? 0 : 1;
}

async function needReviewer(env: Environment): Promise<void> {
  const { AGENTLENS_API_KEY: key } = env;
  if (key === undefined || key === '') throw new Error('missing: the variable AGENTLENS_API_KEY');
  const url = new URL('/api/me', env.AGENTLENS_URL || 'http://127.0.0.1:3400');
  const answer = await fetch(url, {
    headers: { authorization: `Bearer ${key}` },
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const me: unknown = answer.ok ? await answer.json() : undefined;
  const scopes = isRecord(me) && Array.isArray(me.scopes) ? me.scopes : [];
  if (!scopes.includes('review') && !scopes.includes('admin'))
    throw new Error('this key may not accept definitions: it needs the scopes read and review');
}
