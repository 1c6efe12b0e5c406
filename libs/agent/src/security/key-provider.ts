import { readFile } from 'node:fs/promises';
import { AgentError } from '../core/agent-error.ts';

export interface MasterKey {
  readonly kid: string;
  /** 32 bytes. */
  readonly key: Buffer;
}

/** Source of master keys. Keys rotate by id: new data gets the current one, old data names its own. */
export interface KeyProvider {
  current(): MasterKey | Promise<MasterKey>;
  get(kid: string): Buffer | undefined | Promise<Buffer | undefined>;
}

/** @throws AgentError `invalid_config` */
export function staticKeys(keys: Readonly<Record<string, Buffer>>, current: string): KeyProvider {
  for (const [kid, key] of Object.entries(keys)) checkKey(kid, key);
  const key = keys[current];
  if (key === undefined) throw new AgentError('invalid_config', `unknown key "${current}"`);
  return { current: () => ({ kid: current, key }), get: (kid) => keys[kid] };
}

/** One 32-byte base64 key from an environment variable. @throws AgentError `invalid_config` */
export function keyFromEnvironment(variable: string, kid = 'env'): KeyProvider {
  const text = process.env[variable];
  if (text === undefined) throw new AgentError('invalid_config', `the variable ${variable} is not set`);
  return staticKeys({ [kid]: Buffer.from(text, 'base64') }, kid);
}

/** One 32-byte base64 key from a file. @throws AgentError `invalid_config` */
export async function keyFromFile(path: string, kid = 'file'): Promise<KeyProvider> {
  return staticKeys({ [kid]: Buffer.from((await readFile(path, 'utf8')).trim(), 'base64') }, kid);
}

function checkKey(kid: string, key: Buffer): void {
  if (key.length !== 32) throw new AgentError('invalid_config', `the key "${kid}" must have 32 bytes`);
}
