import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto';

const ED25519 = 0x01;
const KEY_BYTES = 32;
/** What precedes the 32 bytes of an Ed25519 key in its DER forms. */
const PUBLIC_DER = Buffer.from('302a300506032b6570032100', 'hex');
const PRIVATE_DER = Buffer.from('302e020100300506032b657004220420', 'hex');

/** A checkpoint: so many leaves, and their root. */
export interface Checkpoint {
  readonly origin: string;
  readonly size: number;
  readonly root: Buffer;
}

/** Signs checkpoints. The same key has another id under each origin. */
export interface NoteSigner {
  readonly privateKey: KeyObject;
  readonly publicKey: Buffer;
}

/** A new Ed25519 key: its 32 secret bytes. */
export function makeSigningKey(): Buffer {
  const { privateKey } = generateKeyPairSync('ed25519');
  return privateKey.export({ format: 'der', type: 'pkcs8' }).subarray(-KEY_BYTES);
}

/** @param secret the 32 secret bytes of an Ed25519 key */
export function openSigner(secret: Buffer): NoteSigner {
  if (secret.length !== KEY_BYTES) throw new Error(`a signing key has ${KEY_BYTES} bytes, not ${secret.length}`);
  const privateKey = createPrivateKey({ key: Buffer.concat([PRIVATE_DER, secret]), format: 'der', type: 'pkcs8' });
  const spki = createPublicKey(privateKey).export({ format: 'der', type: 'spki' });
  return { privateKey, publicKey: spki.subarray(-KEY_BYTES) };
}

/** Id of a key under a name (C2SP signed-note). */
function readKeyId(name: string, publicKey: Buffer): Buffer {
  const typed = Buffer.concat([Buffer.of(ED25519), publicKey]);
  return createHash('sha256').update(`${name}\n`).update(typed).digest().subarray(0, 4);
}

/** The text that verifiers take: `<name>+<key id>+<key>`. */
export function writeVerifierKey(name: string, publicKey: Buffer): string {
  const typed = Buffer.concat([Buffer.of(ED25519), publicKey]).toString('base64');
  return `${name}+${readKeyId(name, publicKey).toString('hex')}+${typed}`;
}

/** Text of a checkpoint, which the signature covers (C2SP tlog-checkpoint). */
function writeCheckpoint({ origin, size, root }: Checkpoint): string {
  return `${origin}\n${size}\n${root.toString('base64')}\n`;
}

/** A checkpoint with its signature, as C2SP signed note. */
export function signCheckpoint(checkpoint: Checkpoint, { privateKey, publicKey }: NoteSigner): string {
  const text = writeCheckpoint(checkpoint);
  const id = readKeyId(checkpoint.origin, publicKey);
  const signature = Buffer.concat([id, sign(null, Buffer.from(text), privateKey)]);
  return `${text}\n— ${checkpoint.origin} ${signature.toString('base64')}\n`;
}

/** Whether a note says exactly this and its own key signed it. Evidence is checked by other code: `libs/log-verify`. */
export function isSignedNote(note: string, checkpoint: Checkpoint, publicKey: Buffer): boolean {
  const text = writeCheckpoint(checkpoint);
  const start = `${text}\n— ${checkpoint.origin} `;
  if (!note.startsWith(start)) return false;
  const [encoded = ''] = note.slice(start.length).split('\n');
  const signature = Buffer.from(encoded, 'base64');
  if (!signature.subarray(0, 4).equals(readKeyId(checkpoint.origin, publicKey))) return false;
  const key = createPublicKey({ key: Buffer.concat([PUBLIC_DER, publicKey]), format: 'der', type: 'spki' });
  return verify(null, Buffer.from(text), key, signature.subarray(4));
}

/** Proof of one leaf with the checkpoint it belongs to, in the form of C2SP tlog-proof. */
export function writeProof(index: number, hashes: readonly Buffer[], note: string): string {
  const lines = hashes.map((hash) => `${hash.toString('base64')}\n`).join('');
  return `c2sp.org/tlog-proof@v1\nindex ${index}\n${lines}\n${note}`;
}
