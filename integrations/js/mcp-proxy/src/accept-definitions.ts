import { parseArgs } from 'node:util';
import { isRecord } from './json-rpc.ts';
import { type DefinitionChange, Pins, pinsFile, shortHash } from './pins.ts';

const TIMEOUT_MS = 10_000;

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * `agentlens-mcp accept`: shows the definitions that wait, and accepts those that are named as they were shown, with
 * their hash: a server may have changed one since. The key needs the scope `review`. Answers the exit code.
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
  const pins = new Pins(values.pins ?? pinsFile(values.server, env));
  const { waiting } = pins;
  if (positionals.length === 0) {
    for (const change of waiting) say(`${nameIn(change)} is ${change.what}\n  ${change.difference.join('\n  ')}`);
    say(waiting.length === 0 ? 'no definition waits' : 'to accept one: agentlens-mcp accept --server … NAME@HASH');
    return 0;
  }
  await needReviewer(env);
  let exitCode = 0;
  for (const named of positionals) {
    const change = waiting.find((one) => nameIn(one) === named);
    if (change !== undefined && pins.accept(change)) continue;
    exitCode = 1;
    const other = waiting.find((one) => nameIn(one).startsWith(`${named}@`) || sameName(nameIn(one), named));
    say(
      other === undefined
        ? `${named} does not wait`
        : `name the definition with its hash, as it is shown now: ${nameIn(other)}`,
    );
  }
  return exitCode;
}

/** `search@1a2b3c4d5e6f`; what is no tool has its kind in front: `prompt:plan@…`. */
function nameIn({ kind, name, hash }: DefinitionChange): string {
  return `${kind === 'tool' ? '' : `${kind.replace(' ', '-')}:`}${name}@${shortHash(hash)}`;
}

function sameName(one: string, other: string): boolean {
  return one.slice(0, one.lastIndexOf('@')) === other.slice(0, other.lastIndexOf('@'));
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
