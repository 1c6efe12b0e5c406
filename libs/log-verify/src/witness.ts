import { createHash, createPrivateKey, createPublicKey, sign } from 'node:crypto';
import {
  COSIGNATURE,
  keyId,
  type OpenedCheckpoint,
  openCheckpoint,
  readVerifierKey,
  strictBase64,
  UnreadableInput,
  type VerifierKey,
  WrongSignature,
} from './note.ts';
import { checkConsistency, MAX_SIZE } from './tree.ts';

/** What precedes the 32 secret bytes of an Ed25519 key in its DER form. */
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');
const SECRET_BYTES = 32;
/** More lines no proof has: sizes are below 2^63. */
const MAX_PROOF = 63;
const EMPTY_ROOT = createHash('sha256').digest();

/** A key that makes cosignatures of C2SP `cosignature/v1`. */
export interface Cosigner {
  readonly name: string;
  /** The text that verifiers take: `<name>+<key id>+<key>`. */
  readonly verifierKey: string;
  /** A signature line, with its line feed. @param text of the checkpoint, with its last line feed */
  readonly cosign: (text: string, seconds: number) => string;
}

/** @param secret the 32 secret bytes of an Ed25519 key. @throws UnreadableInput if name or key are malformed */
export function openCosigner(name: string, secret: Buffer): Cosigner {
  if (secret.length !== SECRET_BYTES)
    throw new UnreadableInput(`the secret key has ${secret.length} bytes, not ${SECRET_BYTES}`);
  const key = createPrivateKey({ key: Buffer.concat([PKCS8, secret]), format: 'der', type: 'pkcs8' });
  const publicKey = createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(-SECRET_BYTES);
  const typed = Buffer.concat([Buffer.of(COSIGNATURE), publicKey]);
  const id = keyId(name, typed);
  const verifierKey = `${name}+${id}+${typed.toString('base64')}`;
  readVerifierKey(verifierKey);
  const cosign = (text: string, seconds: number) => {
    const time = Buffer.alloc(8);
    time.writeBigUInt64BE(BigInt(seconds));
    const signature = sign(null, Buffer.from(`cosignature/v1\ntime ${seconds}\n${text}`, 'utf8'), key);
    return `— ${name} ${Buffer.concat([Buffer.from(id, 'hex'), time, signature]).toString('base64')}\n`;
  };
  return { name, verifierKey, cosign };
}

/** Newest cosigned checkpoint of each log, by origin: with the signatures of the log and of this witness. */
export type WitnessState = Readonly<Record<string, string>>;

/** An answer of the protocol. The body is a text. */
export interface WitnessAnswer {
  readonly status: 200 | 400 | 403 | 404 | 409 | 422;
  readonly type: 'text/plain; charset=utf-8' | 'text/x.tlog.size';
  readonly body: string;
  /** The log signed something that contradicts what this witness cosigned: the signed note, which proves it. */
  readonly misbehaviour?: string;
}

interface WitnessOptions {
  readonly cosigner: Cosigner;
  /** Keys of the logs. The name of a key is the origin of its log. */
  readonly logs: readonly VerifierKey[];
  readonly state: WitnessState;
  /** Stores the state durably, and returns only then. Throws if it cannot: nothing is signed. */
  readonly store: (state: WitnessState) => void;
  readonly nowMs: () => number;
}

/**
 * Cosigns checkpoints of logs that only grow: the protocol of C2SP tlog-witness without its transport. Comparing and
 * storing are one step without a pause, so two requests at a time cannot put a log back.
 */
export class Witness {
  readonly #options: WitnessOptions;
  #state: WitnessState;

  /** @throws UnreadableInput or WrongSignature if the state is not one that this witness signed */
  constructor(options: WitnessOptions) {
    this.#options = options;
    this.#state = options.state;
    if (options.logs.some(({ isCosigner }) => isCosigner))
      throw new UnreadableInput('the key of a witness is not the key of a log');
    const own = readVerifierKey(options.cosigner.verifierKey);
    for (const [origin, note] of Object.entries(options.state)) {
      const { origin: signed, signedBy } = openCheckpoint(note, [own]);
      if (signed !== origin || signedBy.length === 0)
        throw new UnreadableInput(`the stored checkpoint of ${origin} is not signed by this witness`);
    }
  }

  /** The newest checkpoint that was cosigned for the log with this hash of its origin; undefined if there is none. */
  checkpoint(originHash: string): string | undefined {
    return Object.entries(this.#state).find(
      ([origin]) => createHash('sha256').update(origin).digest('hex') === originHash,
    )?.[1];
  }

  /** Answers `POST add-checkpoint`. @throws what `store` throws */
  addCheckpoint(body: string): WitnessAnswer {
    try {
      return this.#judge(readRequest(body));
    } catch (error) {
      if (error instanceof WrongSignature) return refuse(403, error.message);
      if (error instanceof UnreadableInput) return refuse(400, error.message);
      throw error;
    }
  }

  #judge({ oldSize, proof, note, origin }: AddRequest): WitnessAnswer {
    const keys = this.#options.logs.filter(({ name }) => name === origin);
    if (keys.length === 0) return refuse(404, 'log not found');
    const now = openCheckpoint(note, keys);
    if (now.signedBy.length === 0) return refuse(403, 'the checkpoint is not signed by a known key of the log');
    if (oldSize > now.size) return refuse(400, 'the old size is larger than the checkpoint');
    if (now.size > MAX_SIZE) return refuse(400, 'the size of the checkpoint is too large');
    const known = Object.hasOwn(this.#state, origin) ? openCheckpoint(this.#state[origin] ?? '', []) : undefined;
    const size = known?.size ?? 0;
    if (oldSize !== size) return { status: 409, type: 'text/x.tlog.size', body: `${size}\n` };
    const problem = findContradiction(known, now, proof);
    if (problem !== undefined) return { ...refuse(422, problem), misbehaviour: note };
    const { cosigner, nowMs, store } = this.#options;
    const text = textOf(note);
    const line = cosigner.cosign(text, Math.floor(nowMs() / 1_000));
    const state = { ...this.#state, [origin]: `${text}\n${signatureLines(note, keys)}${line}` };
    store(state);
    this.#state = state;
    return { status: 200, type: 'text/plain; charset=utf-8', body: line };
  }
}

const refuse = (status: 400 | 403 | 404 | 422, why: string): WitnessAnswer => ({
  status,
  type: 'text/plain; charset=utf-8',
  body: `${why}\n`,
});

interface AddRequest {
  readonly oldSize: number;
  readonly proof: readonly Buffer[];
  readonly note: string;
  readonly origin: string;
}

/** @throws UnreadableInput */
function readRequest(body: string): AddRequest {
  const end = body.indexOf('\n\n');
  if (end < 0) throw new UnreadableInput('the request has no checkpoint');
  const [first = '', ...lines] = body.slice(0, end).split('\n');
  const [, size] = /^old (0|[1-9]\d{0,15})$/.exec(first) ?? [];
  if (size === undefined) throw new UnreadableInput('line 1 is not the old size');
  if (lines.length > MAX_PROOF) throw new UnreadableInput(`the proof has more than ${MAX_PROOF} lines`);
  const proof = lines.map((line, n) => strictBase64(line, `line ${n + 2}`, 32));
  const note = body.slice(end + 2);
  return { oldSize: Number(size), proof, note, origin: openCheckpoint(note, []).origin };
}

/** Why a log of this checkpoint cannot be the one that was cosigned; undefined if it can. */
function findContradiction(
  known: OpenedCheckpoint | undefined,
  now: OpenedCheckpoint,
  proof: readonly Buffer[],
): string | undefined {
  if (now.size === 0 && !now.root.equals(EMPTY_ROOT)) return 'the root is not that of an empty log';
  if (known === undefined || known.size === 0)
    return proof.length === 0 ? undefined : 'the proof must be empty if the old size is 0';
  if (known.size === now.size && !known.root.equals(now.root)) return 'two different logs of the same size: a fork';
  return checkConsistency(known, now, proof) ? undefined : 'the proof does not show that the log only grew';
}

const textOf = (note: string): string => note.slice(0, note.lastIndexOf('\n\n') + 1);

/** The lines of these keys, which were checked. Others are left out, so that the state stays small. */
function signatureLines(note: string, keys: readonly VerifierKey[]): string {
  const lines = note.slice(note.lastIndexOf('\n\n') + 2, -1).split('\n');
  const isKnown = (line: string) => {
    const [, name, encoded = ''] = line.split(' ');
    return keys.some((key) => key.name === name && key.id === Buffer.from(encoded, 'base64').toString('hex', 0, 4));
  };
  return [...new Set(lines.filter(isKnown))].map((line) => `${line}\n`).join('');
}
