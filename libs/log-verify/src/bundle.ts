import { createHash } from 'node:crypto';
import { compareCheckpoints } from './compare-checkpoints.ts';
import { findGaps, type ShownEntry } from './completeness.ts';
import {
  type OpenedCheckpoint,
  openCheckpoint,
  strictBase64,
  UnreadableInput,
  type VerifierKey,
  WrongSignature,
} from './note.ts';
import { canonical, type Members, members, parseStrictly, type StrictJson } from './strict-json.ts';
import { leafHash, rootFromLeaves } from './tree.ts';

export type Status = 'proven' | 'proven, parts withheld' | 'altered' | 'incomplete' | 'unknown key' | 'unreadable';

/** Exit codes, as scripts use them. */
export const EXIT_CODES: Readonly<Record<Status, number>> = {
  proven: 0,
  'proven, parts withheld': 0,
  altered: 1,
  incomplete: 2,
  'unknown key': 3,
  unreadable: 5,
};
export const EXIT_NOT_WITNESSED = 4;

export interface Finding {
  /** Position of the entry in the log, if the finding is about one. */
  readonly index?: number;
  readonly problem: string;
}

export interface Verdict {
  readonly status: Status;
  readonly findings: readonly Finding[];
  readonly warnings: readonly string[];
  /** Whether as many of the reader's witnesses as asked for signed the checkpoint. */
  readonly isWitnessed: boolean;
  readonly witnesses: readonly WitnessedBy[];
  readonly entries: number;
  readonly withheld: number;
  readonly subject?: StrictJson;
  readonly checkpoint?: Pick<OpenedCheckpoint, 'origin' | 'size'>;
}

export interface WitnessedBy {
  readonly name: string;
  /** When it signed, by its own clock, in the form of RFC 3339; undefined if its signature has no time. */
  readonly at: string | undefined;
}

export interface Trust {
  readonly keys: readonly VerifierKey[];
  readonly witnesses?: readonly VerifierKey[];
  /** Witnesses that must have signed; default: 1. */
  readonly quorum?: number | undefined;
  /** A checkpoint that the reader kept: the log must still contain it. */
  readonly since?: string | undefined;
}

/** What a bundle can be about. */
const SUBJECTS = ['run', 'decision', 'approval', 'order'];

const MAX_ENTRIES = 1_000_000;

/** Checks a bundle without network, with the keys of the reader only. Never throws for bad input. */
export function verifyBundle(text: string, trust: Trust): Verdict {
  try {
    return verify(members(parseStrictly(text), 'the bundle'), trust);
  } catch (error) {
    if (error instanceof UnreadableInput) return failed('unreadable', [{ problem: error.message }]);
    if (error instanceof WrongSignature) return failed('altered', [{ problem: error.message }]);
    throw error;
  }
}

function failed(status: Status, findings: readonly Finding[]): Verdict {
  return { status, findings, warnings: [], isWitnessed: false, witnesses: [], entries: 0, withheld: 0 };
}

function verify(bundle: Members, trust: Trust): Verdict {
  if (bundle.format !== 'agentlens-evidence/v1') throw new UnreadableInput('format must be agentlens-evidence/v1');
  const subject = members(bundle.subject, 'subject');
  if (!SUBJECTS.includes(readText(subject.kind, 'subject.kind')))
    throw new UnreadableInput(`subject.kind must be ${SUBJECTS.join(', ')}`);
  readText(subject.id, 'subject.id');
  const note = readText(bundle.checkpoint, 'checkpoint');
  const checkpoint = openCheckpoint(note, trust.keys);
  if (checkpoint.signedBy.length === 0)
    return failed('unknown key', [
      { problem: `the checkpoint of ${checkpoint.origin} is not signed by a key that you gave` },
    ]);
  // A key proves only its own log.
  if (!checkpoint.signatures.some(({ key }) => key.name === checkpoint.origin && !key.isCosigner))
    return failed('unknown key', [{ problem: `no given key belongs to ${checkpoint.origin}` }]);
  const entries = list(bundle.entries, 'entries').map((entry, n) => readEntry(members(entry, `entries[${n}]`), n));
  for (const [n, entry] of entries.entries())
    if (n > 0 && entry.index <= (entries[n - 1]?.index ?? -1))
      throw new UnreadableInput(`entries[${n}] is not after the entry before it`);
  const hashes = list(bundle.hashes, 'hashes').map((hash, n) =>
    strictBase64(readText(hash, `hashes[${n}]`), `hashes[${n}]`, 32),
  );
  const findings = entries.flatMap(checkEntry);
  const root = rootFromLeaves(
    checkpoint.size,
    entries.map(({ index, leaf }) => ({ index, hash: leafHash(leaf) })),
    hashes,
  );
  if (root === undefined || !root.equals(checkpoint.root))
    findings.push({
      problem:
        'the entries do not lead to the root of the signed checkpoint: an entry, its position or a hash was changed',
    });
  if (trust.since !== undefined) findings.push(...checkSince(trust, trust.since, checkpoint, bundle));
  const gaps = findings.length > 0 ? [] : findGaps(subject, entries.map(showEntry));
  const withheld = entries.filter(hidesSomething).length;
  const status = judge(findings.length, gaps.length, withheld);
  const witnesses = readWitnesses(note, trust);
  const quorum = Math.max(1, trust.quorum ?? 1);
  const isWitnessed = witnesses.length >= quorum;
  return {
    status,
    findings: [...findings, ...gaps],
    warnings: isWitnessed ? [] : [explainMissing(witnesses.length, quorum)],
    ...{ isWitnessed, witnesses },
    entries: entries.length,
    withheld,
    subject,
    checkpoint: { origin: checkpoint.origin, size: checkpoint.size },
  };
}

/** What an entry says of its run, and which positions it removed. */
function showEntry({ index, fields, payload, isErased }: Entry): ShownEntry {
  const content = payload === undefined ? undefined : members(parseStrictly(payload), 'a payload');
  return { index, id: fields.id, kind: fields.kind, content, isErased };
}

function hidesSomething({ payload, disclosed }: Entry): boolean {
  if (payload === undefined) return true;
  const hidden = members(members(parseStrictly(payload), 'a payload').withheld ?? {}, 'withheld');
  return Object.keys(hidden).some((name) => !disclosed.some((shown) => shown.name === name));
}

function judge(altered: number, gaps: number, withheld: number): Status {
  if (altered > 0) return 'altered';
  if (gaps > 0) return 'incomplete';
  return withheld > 0 ? 'proven, parts withheld' : 'proven';
}

/** The witnesses that signed. A key with two names counts once, and the key of the log under another name never. */
function readWitnesses(note: string, { keys, witnesses = [] }: Trust): WitnessedBy[] {
  const counted = new Set(keys.map(({ bytes }) => bytes));
  const others = openCheckpoint(note, witnesses).signatures.filter(({ key: { bytes } }) => {
    const isNew = !counted.has(bytes);
    counted.add(bytes);
    return isNew;
  });
  return others.map(({ key, at }) => ({ name: key.name, at: at?.toISOString() }));
}

function explainMissing(signed: number, quorum: number): string {
  return signed === 0
    ? 'signed, not witnessed: only the operator signed this checkpoint'
    : `signed by ${signed} of your witnesses, and ${quorum} must`;
}

function checkSince(trust: Trust, since: string, now: OpenedCheckpoint, bundle: Members): Finding[] {
  const old = openCheckpoint(since, trust.keys);
  if (old.signedBy.length === 0) return [{ problem: 'the kept checkpoint is not signed by a key that you gave' }];
  const given = list(bundle.consistency ?? [], 'consistency').map((one, n) => members(one, `consistency[${n}]`));
  const proof = given.find(({ from }) => from === old.size);
  const hashes =
    proof &&
    list(proof.hashes, 'consistency.hashes').map((hash) =>
      strictBase64(readText(hash, 'consistency.hashes'), 'consistency.hashes', 32),
    );
  const problem = compareCheckpoints(old, now, hashes);
  return problem === undefined ? [] : [{ problem }];
}

interface Entry {
  readonly index: number;
  readonly leaf: string;
  readonly fields: Members;
  readonly salt: string | undefined;
  readonly payload: string | undefined;
  readonly disclosed: readonly { readonly name: string; readonly value: string }[];
  readonly memberSalt: string | undefined;
  readonly isErased: boolean;
}

function readEntry(entry: Members, n: number): Entry {
  if (n >= MAX_ENTRIES) throw new UnreadableInput(`more than ${MAX_ENTRIES} entries`);
  const { index } = entry;
  if (typeof index !== 'number' || !Number.isSafeInteger(index) || index < 0)
    throw new UnreadableInput(`entries[${n}].index is not a position`);
  const leaf = readText(entry.leaf, `entries[${n}].leaf`);
  const disclosed = Object.entries(members(entry.members ?? {}, `entries[${n}].members`)).map(([name, value]) => ({
    name,
    value: readText(value, `entries[${n}].members.${name}`),
  }));
  const isWithheld = entry.withheld !== undefined;
  if (isWithheld && entry.withheld !== 'redacted' && entry.withheld !== 'erased')
    throw new UnreadableInput(`entries[${n}].withheld must be redacted or erased`);
  const optional = (name: 'salt' | 'payload' | 'memberSalt') =>
    entry[name] === undefined ? undefined : readText(entry[name], `entries[${n}].${name}`);
  const payload = optional('payload');
  if (payload === undefined && !isWithheld)
    throw new UnreadableInput(`entries[${n}] has neither a payload nor a reason to withhold it`);
  return {
    ...{ index, leaf, disclosed, payload, isErased: entry.withheld === 'erased' },
    fields: members(parseStrictly(leaf), `entries[${n}].leaf`),
    salt: optional('salt'),
    memberSalt: optional('memberSalt'),
  };
}

function checkEntry({ index, leaf, fields, salt, payload, disclosed, memberSalt }: Entry): Finding[] {
  if (fields.v !== 2 || canonical(fields) !== leaf) return [{ index, problem: 'the leaf is not canonical' }];
  if (payload === undefined) return disclosed.length === 0 ? [] : [{ index, problem: 'members without a payload' }];
  const value = members(parseStrictly(payload), 'a payload');
  if (canonical(value) !== payload) return [{ index, problem: 'the payload is not canonical' }];
  const digest = createHash('sha256')
    .update(`agentlens/entry/v2\n`)
    .update(strictBase64(salt ?? '', 'a salt', 16))
    .update(Buffer.from(payload, 'utf8'))
    .digest('hex');
  if (digest !== fields.digest)
    return [
      { index, problem: `the payload was changed: expected digest ${JSON.stringify(fields.digest)}, found ${digest}` },
    ];
  return disclosed.flatMap(({ name, value: text }) => {
    const found = createHash('sha256')
      .update(`agentlens/member/v2\n`)
      .update(strictBase64(memberSalt ?? '', 'a salt', 16))
      .update(`${JSON.stringify(name)}\n`)
      .update(Buffer.from(text, 'utf8'))
      .digest('hex');
    const expected = members(value.withheld ?? {}, 'withheld')[name];
    if (found === expected) return [];
    return [
      { index, problem: `the member ${name} was changed: expected digest ${JSON.stringify(expected)}, found ${found}` },
    ];
  });
}

function list(value: StrictJson | undefined, what: string): readonly StrictJson[] {
  if (!Array.isArray(value)) throw new UnreadableInput(`${what} must be a list`);
  return value as readonly StrictJson[];
}

function readText(value: StrictJson | undefined, what: string): string {
  if (typeof value !== 'string') throw new UnreadableInput(`${what} must be a text`);
  return value;
}
