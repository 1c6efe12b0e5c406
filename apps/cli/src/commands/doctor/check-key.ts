import { type Client, ProblemError } from '@agentlens/client';
import { CommandError } from '../../command-error.ts';
import { EXIT } from '../../exit-codes.ts';
import { chooseKey, clientWith, type PlatformClientOptions } from '../../platform-client.ts';
import type { Finding } from './finding.ts';

export interface KeyCheck {
  readonly finding: Finding;
  /** Where the key is good. */
  readonly accepted?: { readonly client: Client; readonly key: string };
}

const check = 'key';

/** Whether the platform knows the key, and what it may do. */
export async function checkKey(options: PlatformClientOptions): Promise<KeyCheck> {
  const fail = (what: string, advice: string | undefined): KeyCheck => {
    return { finding: { check, result: 'failed', what, advice, exitCode: EXIT.notAllowed } };
  };
  try {
    const key = await chooseKey(options);
    const client = clientWith(key, options);
    const me = await client.getMe();
    const source = options.connection.keys.find((known) => known.key === key)?.source ?? '';
    const what = `"${me.keyName}" of tenant ${me.tenantId} may ${me.scopes.join(', ')} (from ${source})`;
    return { finding: { check, result: 'ok', what }, accepted: { client, key } };
  } catch (error) {
    if (error instanceof ProblemError) return fail(`${error.status}: ${error.message}`, error.hint);
    if (error instanceof CommandError) return fail(error.message, error.hint);
    throw error;
  }
}
