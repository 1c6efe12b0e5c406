import { createHash, sign } from 'node:crypto';
import {
  digestMember,
  digestPayload,
  openSigner,
  planConsistency,
  planSharedProof,
  signCheckpoint,
  writeLeaf,
  writeVerifierKey,
} from '@agentlens/log';
import { readLeaves } from '@agentlens/log/testing';
import { canonical, type StrictJson } from './strict-json.ts';

export const ORIGIN = 'test/log/1';
const SECRET = Buffer.alloc(32, 3);
export const KEY = writeVerifierKey(ORIGIN, openSigner(SECRET).publicKey);

interface MadeEntry {
  index: number;
  leaf: string;
  salt?: string;
  payload?: string;
  memberSalt?: string;
  members?: Record<string, string>;
  withheld?: string;
}

export interface MadeBundle {
  format: string;
  subject: { kind: string; id: string };
  entries: MadeEntry[];
  hashes: string[];
  checkpoint: string;
  consistency?: { from: number; hashes: string[] }[];
}

const SALT = Buffer.alloc(16, 9);
const MEMBER_SALT = Buffer.alloc(16, 8);
const ARGUMENTS = '{"amount":"10"}';

/** Entry `index` of the test log. Every third belongs to the run `r1`. */
export function makeEntry(index: number): MadeEntry {
  const run = index % 3 === 0 ? { id: 'r1', entry: index / 3 + 1 } : { id: 'r2', entry: index };
  const payload: StrictJson = {
    decision: { verdict: index % 2 === 0 ? 'ALLOW' : 'BLOCK' },
    run,
    withheld: { arguments: digestMember(MEMBER_SALT, 'arguments', ARGUMENTS) },
  };
  const text = canonical(payload);
  const at = '2026-03-01T12:00:00.000Z';
  return {
    index,
    leaf: writeLeaf({ kind: 'decision', id: `d${index}`, at, digest: digestPayload(SALT, text), writer: 'w#1' }),
    salt: SALT.toString('base64'),
    payload: text,
    memberSalt: MEMBER_SALT.toString('base64'),
    members: { arguments: ARGUMENTS },
  };
}

const text = (hashes: readonly Buffer[]) => hashes.map((hash) => hash.toString('base64'));

/** A signed checkpoint of a log of these leaves. */
export async function makeCheckpoint(leaves: readonly string[], secret = SECRET, origin = ORIGIN): Promise<string> {
  const root = await readLeaves(leaves).root();
  return signCheckpoint({ origin, size: leaves.length, root }, openSigner(secret));
}

/** A witness as C2SP tlog-cosignature describes it, written apart from the code under test. */
export function makeWitness(name: string, secret: Buffer) {
  const { privateKey, publicKey } = openSigner(secret);
  const typed = Buffer.concat([Buffer.of(4), publicKey]);
  const id = createHash('sha256').update(`${name}\n`).update(typed).digest().subarray(0, 4);
  return {
    key: `${name}+${id.toString('hex')}+${typed.toString('base64')}`,
    /** The note with a cosignature more. */
    cosign: (note: string, seconds: bigint): string => {
      const text = note.slice(0, note.indexOf('\n\n') + 1);
      const time = Buffer.alloc(8);
      time.writeBigUInt64BE(seconds);
      const signature = sign(null, Buffer.from(`cosignature/v1\ntime ${seconds}\n${text}`), privateKey);
      return `${note}— ${name} ${Buffer.concat([id, time, signature]).toString('base64')}\n`;
    },
  };
}

/** The evidence of run `r1` in a log of `size` entries. */
export function makeBundle(size: number, since?: number): Promise<MadeBundle> {
  return bundleEntries(
    Array.from({ length: size }, (_, index) => makeEntry(index)),
    ({ index }) => index % 3 === 0,
    since,
  );
}

/** The same with one entry more, which removed these ranges of positions, and without the entries at `absent`. */
export function makeErasedBundle(
  size: number,
  ranges: readonly (readonly [number, number])[],
  absent: readonly number[] = [],
): Promise<MadeBundle> {
  const text = canonical({ erasure: { entries: 1, ranges, removed: 'payload' } });
  const leaf = { kind: 'erasure', id: 'e1', at: '2026-03-02T12:00:00.000Z', writer: 'w#2' } as const;
  const erasure: MadeEntry = {
    index: size,
    leaf: writeLeaf({ ...leaf, digest: digestPayload(SALT, text) }),
    salt: SALT.toString('base64'),
    payload: text,
  };
  const all = [...Array.from({ length: size }, (_, index) => makeEntry(index)), erasure];
  return bundleEntries(all, ({ index }) => index === size || (index % 3 === 0 && !absent.includes(index)));
}

async function bundleEntries(
  all: readonly MadeEntry[],
  isShown: (entry: MadeEntry) => boolean,
  since?: number,
): Promise<MadeBundle> {
  const size = all.length;
  const leaves = all.map(({ leaf }) => leaf);
  const tree = readLeaves(leaves);
  const entries = all.filter(isShown);
  const indices = entries.map(({ index }) => index);
  return {
    format: 'agentlens-evidence/v1',
    subject: { kind: 'run', id: 'r1' },
    entries,
    hashes: text(await tree.prove(planSharedProof(indices, size))),
    checkpoint: await makeCheckpoint(leaves),
    ...(since !== undefined && {
      consistency: [{ from: since, hashes: text(await tree.prove(planConsistency(since, size))) }],
    }),
  };
}
