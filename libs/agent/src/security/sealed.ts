import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { AgentError } from '../core/agent-error.ts';
import { isPlainObject, type Json, parseJson } from '../core/json.ts';

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

/** Encrypted JSON; every part in base64. */
export type Sealed = {
  readonly v: 1;
  readonly kid: string;
  readonly iv: string;
  readonly tag: string;
  /** The data key, encrypted with the master key `kid`. */
  readonly key: string;
  readonly ct: string;
};

interface DataKey {
  readonly kid: string;
  readonly plain: Buffer;
  readonly wrapped: string;
}

const CIPHER = 'aes-256-gcm';
const MAX_DATA_KEYS = 1_000;

/**
 * AES-256-GCM with a data key per stream. The context of a text (its kind, stream and position) is authenticated with
 * it, so that rows cannot be swapped.
 */
export class Sealer {
  readonly #keys: KeyProvider;
  readonly #dataKeys = new Map<string, DataKey>();

  constructor(keys: KeyProvider) {
    this.#keys = keys;
  }

  async seal(value: Json, stream: string, bound: readonly (string | number)[]): Promise<Sealed> {
    const { kid, plain, wrapped } = await this.#dataKey(stream);
    const { iv, tag, ct } = encrypt(plain, Buffer.from(JSON.stringify(value)), bound);
    return {
      v: 1,
      kid,
      iv: iv.toString('base64'),
      tag: tag.toString('base64'),
      key: wrapped,
      ct: ct.toString('base64'),
    };
  }

  /** @throws AgentError `decrypt_failed` */
  async open(sealed: unknown, bound: readonly (string | number)[]): Promise<Json> {
    if (!isSealed(sealed)) throw failed('it is not encrypted');
    const master = await this.#keys.get(sealed.kid);
    if (master === undefined) throw failed(`the key "${sealed.kid}" is unknown`);
    try {
      const wrapped = Buffer.from(sealed.key, 'base64');
      const plainKey = decrypt(master, wrapped.subarray(0, 12), wrapped.subarray(12, 28), wrapped.subarray(28), [
        sealed.kid,
      ]);
      const part = (name: 'iv' | 'tag' | 'ct') => Buffer.from(sealed[name], 'base64');
      // It was JSON when it was sealed, and nothing else passes the tag.
      return parseJson(decrypt(plainKey, part('iv'), part('tag'), part('ct'), bound).toString('utf8')) as Json;
    } catch (error) {
      throw failed('it was changed, moved, or written with another key', error);
    }
  }

  async #dataKey(stream: string): Promise<DataKey> {
    const { kid, key } = await this.#keys.current();
    const known = this.#dataKeys.get(stream);
    if (known?.kid === kid) return known;
    const plain = randomBytes(32);
    const { iv, tag, ct } = encrypt(key, plain, [kid]);
    const made = { kid, plain, wrapped: Buffer.concat([iv, tag, ct]).toString('base64') };
    if (this.#dataKeys.size >= MAX_DATA_KEYS) this.#dataKeys.clear();
    this.#dataKeys.set(stream, made);
    return made;
  }
}

function isSealed(value: unknown): value is Sealed {
  if (!isPlainObject(value) || value.v !== 1) return false;
  return ['kid', 'iv', 'tag', 'key', 'ct'].every((field) => typeof value[field] === 'string');
}

function encrypt(key: Buffer, plain: Buffer, bound: readonly (string | number)[]) {
  const iv = randomBytes(12);
  const cipher = createCipheriv(CIPHER, key, iv);
  cipher.setAAD(Buffer.from(JSON.stringify(bound)));
  const ct = Buffer.concat([cipher.update(plain), cipher.final()]);
  return { iv, tag: cipher.getAuthTag(), ct };
}

function decrypt(key: Buffer, iv: Buffer, tag: Buffer, ct: Buffer, bound: readonly (string | number)[]): Buffer {
  const decipher = createDecipheriv(CIPHER, key, iv, { authTagLength: 16 });
  decipher.setAAD(Buffer.from(JSON.stringify(bound)));
  decipher.setAuthTag(tag);
  return Buffer.concat([decipher.update(ct), decipher.final()]);
}

function failed(why: string, cause?: unknown): AgentError {
  return new AgentError(
    'decrypt_failed',
    `stored data cannot be decrypted: ${why}`,
    cause === undefined ? {} : { cause },
  );
}
