import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto';

const SPKI = Buffer.from('302a300506032b6570032100', 'hex');
/** Signature types of C2SP: a plain signature, and the cosignature of a witness, which has a time. */
const ED25519 = 1;
export const COSIGNATURE = 4;
const KEY_ID_BYTES = 4;
const TIME_BYTES = 8;
const COSIGNATURE_BYTES = TIME_BYTES + 64;
/** Seconds of the last instant that a date can have. */
const MAX_TIME = 8_640_000_000_000n;
const MAX_NOTE = 1_000_000;
const MAX_SIGNATURES = 64;
/** No space, no plus, no control character. */
const NAME = /^[^\s+\p{Cc}]+$/u;

/** A key that a reader trusts. It never comes from the evidence. */
export interface VerifierKey {
  readonly name: string;
  readonly id: string;
  readonly key: KeyObject;
  /** The key without its name and type, in hex: one witness under two names is one witness. */
  readonly bytes: string;
  /** Signs cosignatures of C2SP `cosignature/v1`: the key of a witness, never of a log. */
  readonly isCosigner: boolean;
}

export class UnreadableInput extends Error {}

/** Decodes base64 only in its one canonical form. */
export function strictBase64(text: string, what: string, bytes?: number): Buffer {
  const decoded = Buffer.from(text, 'base64');
  if (decoded.toString('base64') !== text) throw new UnreadableInput(`${what} is not base64`);
  if (bytes !== undefined && decoded.length !== bytes)
    throw new UnreadableInput(`${what} has ${decoded.length} bytes, not ${bytes}`);
  return decoded;
}

/**
 * Reads `<name>+<key id>+<key>` (C2SP signed-note): an Ed25519 key of type 0x01, or of type 0x04 of a witness
 * (tlog-cosignature). @throws UnreadableInput
 */
export function readVerifierKey(text: string): VerifierKey {
  const [, name = '', id = '', encoded = ''] = /^([^+]*)\+([0-9a-f]{8})\+(.+)$/.exec(text.trim()) ?? [];
  if (!NAME.test(name)) throw new UnreadableInput('the key must have the form <name>+<8 hex digits>+<base64>');
  const typed = strictBase64(encoded, 'the key');
  const [type] = typed;
  if (typed.length !== 33 || (type !== ED25519 && type !== COSIGNATURE))
    throw new UnreadableInput('the key is not an Ed25519 key');
  if (keyId(name, typed) !== id) throw new UnreadableInput('the key does not match its id: a character was changed');
  return {
    name,
    id,
    bytes: typed.toString('hex', 1),
    isCosigner: type === COSIGNATURE,
    key: createPublicKey({ key: Buffer.concat([SPKI, typed.subarray(1)]), format: 'der', type: 'spki' }),
  };
}

/** Id of a key under a name, in hex. @param typed the type and the key */
export function keyId(name: string, typed: Buffer): string {
  return createHash('sha256').update(`${name}\n`).update(typed).digest().subarray(0, 4).toString('hex');
}

export interface OpenedCheckpoint {
  readonly origin: string;
  readonly size: number;
  readonly root: Buffer;
  /** Names of the given keys whose signatures are valid. */
  readonly signedBy: readonly string[];
  /** The valid signatures of the given keys, at most one of each. */
  readonly signatures: readonly KnownSignature[];
}

export interface KnownSignature {
  readonly key: VerifierKey;
  /** When a witness signed, by its own clock; undefined for a plain signature. */
  readonly at: Date | undefined;
}

/**
 * Reads a checkpoint and checks the signatures of known keys; others are ignored.
 * @throws UnreadableInput if it is malformed, or if a signature of a known key is wrong
 */
export function openCheckpoint(note: string, keys: readonly VerifierKey[]): OpenedCheckpoint {
  if (note.length > MAX_NOTE) throw new UnreadableInput('the checkpoint is longer than 1,000,000 characters');
  if (!note.isWellFormed() || /(?!\n)\p{Cc}/u.test(note))
    throw new UnreadableInput('the checkpoint contains a control character');
  const split = note.lastIndexOf('\n\n');
  if (split < 0 || !note.endsWith('\n')) throw new UnreadableInput('the checkpoint has no signatures');
  const text = note.slice(0, split + 1);
  const lines = note.slice(split + 2, -1).split('\n');
  if (lines.length > MAX_SIGNATURES)
    throw new UnreadableInput(`the checkpoint has more than ${MAX_SIGNATURES} signatures`);
  const signatures = new Map<VerifierKey, KnownSignature>();
  for (const line of lines) {
    const [, name = '', encoded = ''] = /^— ([^ ]+) ([^ ]+)$/.exec(line) ?? [];
    if (!NAME.test(name)) throw new UnreadableInput('a signature line of the checkpoint is malformed');
    const signature = strictBase64(encoded, 'a signature of the checkpoint');
    if (signature.length < 5) throw new UnreadableInput('a signature of the checkpoint is too short');
    const id = signature.toString('hex', 0, KEY_ID_BYTES);
    const key = keys.find((one) => one.name === name && one.id === id);
    if (key === undefined) continue;
    const at = checkSignature(text, key, signature.subarray(KEY_ID_BYTES));
    const other = signatures.get(key)?.at;
    // A witness may have signed the same checkpoint again: what counts is since when it knows it.
    if (other === undefined || (at !== undefined && at < other)) signatures.set(key, { key, at });
  }
  const known = [...signatures.values()];
  return { ...readBody(text), signatures: known, signedBy: [...new Set(known.map(({ key }) => key.name))] };
}

/** @returns the time of a cosignature. @throws WrongSignature */
function checkSignature(text: string, { name, key, isCosigner }: VerifierKey, signature: Buffer): Date | undefined {
  const seconds = isCosigner && signature.length === COSIGNATURE_BYTES ? signature.readBigUInt64BE() : 0n;
  const signed = isCosigner ? `cosignature/v1\ntime ${seconds}\n${text}` : text;
  const isRight = verify(null, Buffer.from(signed, 'utf8'), key, signature.subarray(isCosigner ? TIME_BYTES : 0));
  if (!isRight) throw new WrongSignature(`the signature of ${name} does not match the checkpoint`);
  if (!isCosigner) return undefined;
  if (seconds === 0n || seconds > MAX_TIME) throw new WrongSignature(`the cosignature of ${name} has no valid time`);
  return new Date(Number(seconds) * 1_000);
}

/** A known key's signature over another text. */
export class WrongSignature extends Error {}

function readBody(text: string): Omit<OpenedCheckpoint, 'signedBy' | 'signatures'> {
  const [origin = '', size = '', root = '', ...rest] = text.slice(0, -1).split('\n');
  if (!NAME.test(origin)) throw new UnreadableInput('the origin of the checkpoint is malformed');
  if (!/^(0|[1-9]\d{0,15})$/.test(size)) throw new UnreadableInput('the size of the checkpoint is not a number');
  if (rest.some((line) => line === '')) throw new UnreadableInput('the checkpoint has an empty line');
  return { origin, size: Number(size), root: strictBase64(root, 'the root of the checkpoint', 32) };
}
