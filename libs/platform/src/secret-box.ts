import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';

/**
 * Authenticated encryption of small secrets at rest (AES-256-GCM). `context` (tenant, table, row) binds a sealed value
 * to its place, so that it cannot be moved. The sealed text names the version of its key.
 */
export interface SecretBox {
  seal(plain: string, context: readonly string[]): string;
  /** @throws Error if the text was altered or moved, or sealed with a key that this process does not have */
  open(sealed: string, context: readonly string[]): string;
  isSealed(text: string): boolean;
}

const PREFIX = 'sealed';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * AES-256-GCM with base64 keys. The first key seals and every key opens, so a key is replaced by putting the new one in
 * front. The version of a key is the start of its hash. Format: `sealed:<key version>:<base64url of nonce, tag and
 * ciphertext>`.
 */
export class AesSecretBox implements SecretBox {
  readonly #keys: ReadonlyMap<string, Buffer>;
  readonly #sealWith: string;

  constructor(keysBase64: readonly string[]) {
    const keys = keysBase64.map((text) => Buffer.from(text, 'base64'));
    if (keys.length === 0 || keys.some((key) => key.length !== 32)) {
      throw new Error('A secret key is 32 bytes in base64 (make one with: openssl rand -base64 32)');
    }
    const versioned = keys.map((key): [string, Buffer] => [versionOf(key), key]);
    this.#keys = new Map(versioned);
    this.#sealWith = versioned[0]?.[0] ?? '';
  }

  seal(plain: string, context: readonly string[]): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#key(this.#sealWith), nonce);
    cipher.setAAD(bound(context, this.#sealWith));
    const text = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
    const body = Buffer.concat([nonce, cipher.getAuthTag(), text]).toString('base64url');
    return `${PREFIX}:${this.#sealWith}:${body}`;
  }

  open(sealed: string, context: readonly string[]): string {
    const parts = SEALED.exec(sealed);
    if (parts === null) throw new Error('Not a sealed text');
    const [, version = '', body = ''] = parts;
    const bytes = Buffer.from(body, 'base64url');
    const decipher = createDecipheriv('aes-256-gcm', this.#key(version), bytes.subarray(0, NONCE_BYTES), {
      authTagLength: TAG_BYTES,
    });
    decipher.setAAD(bound(context, version));
    decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
    try {
      const text = decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES));
      return Buffer.concat([text, decipher.final()]).toString('utf8');
    } catch (cause) {
      throw new Error('A sealed text was altered or moved from where it belongs', { cause });
    }
  }

  isSealed(text: string): boolean {
    return SEALED.test(text);
  }

  #key(version: string): Buffer {
    const key = this.#keys.get(version);
    if (key === undefined) {
      throw new Error(
        `The text was sealed with key version "${version}", which this process does not have: ` +
          'add that key to AGENTLENS_SECRET_KEY after the current one',
      );
    }
    return key;
  }
}

/** Nonce and tag are 28 bytes, or 38 characters of base64url. */
const SEALED = /^sealed:([0-9a-f]{8}):([\w-]{38,})$/;

function versionOf(key: Buffer): string {
  return createHash('sha256').update('agentlens key version').update(key).digest('hex').slice(0, 8);
}

/** JSON keeps the parts apart: ['a', 'bc'] differs from ['ab', 'c']. */
function bound(context: readonly string[], version: string): Buffer {
  return Buffer.from(JSON.stringify([...context, version]));
}
