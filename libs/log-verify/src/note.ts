import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto';

const SPKI = Buffer.from('302a300506032b6570032100', 'hex');
const ED25519 = 1;
const MAX_NOTE = 1_000_000;
const MAX_SIGNATURES = 64;
/** No space, no plus, no control character. */
const NAME = /^[^\s+\p{Cc}]+$/u;

/** A key that a reader trusts. It never comes from the evidence. */
export interface VerifierKey {
  readonly name: string;
  readonly id: string;
  readonly key: KeyObject;
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

/** Reads `<name>+<key id>+<key>` (C2SP signed-note). @throws UnreadableInput */
export function readVerifierKey(text: string): VerifierKey {
  const [, name = '', id = '', encoded = ''] = /^([^+]*)\+([0-9a-f]{8})\+(.+)$/.exec(text.trim()) ?? [];
  if (!NAME.test(name)) throw new UnreadableInput('the key must have the form <name>+<8 hex digits>+<base64>');
  const typed = strictBase64(encoded, 'the key');
  if (typed.length !== 33 || typed[0] !== ED25519) throw new UnreadableInput('the key is not an Ed25519 key');
  if (keyId(name, typed) !== id) throw new UnreadableInput('the key does not match its id: a character was changed');
  return {
    name,
    id,
    key: createPublicKey({ key: Buffer.concat([SPKI, typed.subarray(1)]), format: 'der', type: 'spki' }),
  };
}

function keyId(name: string, typed: Buffer): string {
  return createHash('sha256').update(`${name}\n`).update(typed).digest().subarray(0, 4).toString('hex');
}

export interface OpenedCheckpoint {
  readonly origin: string;
  readonly size: number;
  readonly root: Buffer;
  /** Names of the given keys whose signatures are valid. */
  readonly signedBy: readonly string[];
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
  const signedBy = new Set<string>();
  for (const line of lines) {
    const [, name = '', encoded = ''] = /^— ([^ ]+) ([^ ]+)$/.exec(line) ?? [];
    if (!NAME.test(name)) throw new UnreadableInput('a signature line of the checkpoint is malformed');
    const signature = strictBase64(encoded, 'a signature of the checkpoint');
    if (signature.length < 5) throw new UnreadableInput('a signature of the checkpoint is too short');
    const id = signature.subarray(0, 4).toString('hex');
    const known = keys.find((key) => key.name === name && key.id === id);
    if (known === undefined) continue;
    if (!verify(null, Buffer.from(text, 'utf8'), known.key, signature.subarray(4)))
      throw new WrongSignature(`the signature of ${name} does not match the checkpoint`);
    signedBy.add(name);
  }
  return { ...readBody(text), signedBy: [...signedBy] };
}

/** A known key's signature over another text. */
export class WrongSignature extends Error {}

function readBody(text: string): Omit<OpenedCheckpoint, 'signedBy'> {
  const [origin = '', size = '', root = '', ...rest] = text.slice(0, -1).split('\n');
  if (!NAME.test(origin)) throw new UnreadableInput('the origin of the checkpoint is malformed');
  if (!/^(0|[1-9]\d{0,15})$/.test(size)) throw new UnreadableInput('the size of the checkpoint is not a number');
  if (rest.some((line) => line === '')) throw new UnreadableInput('the checkpoint has an empty line');
  return { origin, size: Number(size), root: strictBase64(root, 'the root of the checkpoint', 32) };
}
