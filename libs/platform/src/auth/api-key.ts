import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { crc32 } from 'node:zlib';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const ID_LENGTH = 8;
const SECRET_BYTES = 32;
/** 32 bytes and a 32-bit checksum in base 62, padded, so that every key has the same length. */
const SECRET_LENGTH = 43;
const CHECKSUM_LENGTH = 6;
const FORM = new RegExp(
  `^agk_([a-z]{1,10})_([0-9A-Za-z]{${ID_LENGTH}})_([0-9A-Za-z]{${SECRET_LENGTH}})([0-9A-Za-z]{${CHECKSUM_LENGTH}})$`,
);

/**
 * Creates a key: `agk_<env>_<8 characters id>_<256 random bits in base 62><checksum>`. With the checksum, secret
 * scanners and the gateway recognise a mistyped key without a lookup.
 */
export function newApiKey(env: 'live' | 'test' | 'session' | 'person' = 'live'): {
  readonly id: string;
  readonly key: string;
} {
  const id = randomText(ID_LENGTH);
  const secret = base62(BigInt(`0x${randomBytes(SECRET_BYTES).toString('hex')}`), SECRET_LENGTH);
  const body = `agk_${env}_${id}_${secret}`;
  return { id, key: `${body}${checksumOf(body)}` };
}

/** The id in a key; null if the text is not a complete key. */
export function apiKeyIdOf(key: string): string | null {
  const parts = FORM.exec(key);
  if (parts === null || checksumOf(key.slice(0, -CHECKSUM_LENGTH)) !== parts[4]) return null;
  return parts[2] ?? null;
}

/** The stored hash of a key. 256 random bits need no slow hash. */
export function apiKeyHash(key: string): Buffer {
  return hash('sha256', key, 'buffer');
}

/** Compares in constant time. */
export function isSameHash(shown: Uint8Array, stored: Uint8Array): boolean {
  return shown.length === stored.length && timingSafeEqual(shown, stored);
}

function checksumOf(body: string): string {
  let text = '';
  for (let rest = crc32(body); rest > 0; rest = Math.floor(rest / ALPHABET.length)) {
    text = ALPHABET.charAt(rest % ALPHABET.length) + text;
  }
  return text.padStart(CHECKSUM_LENGTH, '0');
}

function base62(value: bigint, length: number): string {
  let text = '';
  for (let rest = value; rest > 0n; rest /= 62n) text = ALPHABET.charAt(Number(rest % 62n)) + text;
  return text.padStart(length, '0');
}

/** Rejection sampling keeps every character equally likely. */
function randomText(length: number): string {
  let text = '';
  while (text.length < length) {
    const byte = randomBytes(1)[0] ?? 255;
    if (byte < 248) text += ALPHABET.charAt(byte % 62);
  }
  return text;
}

/** The key in the `Authorization` header of a request, unchecked. */
export function bearerOf({ headers }: { readonly headers: IncomingHttpHeaders }): string | undefined {
  return /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1];
}

/** A small limit, because this keeps secrets in memory. */
const MAX_KEYS = 1_000;

/** Id and hash of a complete key. */
interface ShownKey {
  readonly keyId: string;
  readonly hash: Uint8Array;
}

/**
 * Parses keys and caches their id and hash, because clients send the same key with every request. Does not check
 * whether the key exists.
 */
export class ShownKeys {
  readonly #known = new Map<string, ShownKey>();

  /** Null if the text is not a complete key. */
  read(key: string): ShownKey | null {
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const keyId = apiKeyIdOf(key);
    if (keyId === null) return null;
    const shown = { keyId, hash: apiKeyHash(key) };
    if (this.#known.size >= MAX_KEYS) this.#known.clear();
    this.#known.set(key, shown);
    return shown;
  }
}
