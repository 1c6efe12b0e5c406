import { openSigner, signCheckpoint, writeVerifierKey } from '@agentlens/log';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  KEY,
  type MadeBundle,
  makeBundle,
  makeCheckpoint,
  makeEntry,
  makeErasedBundle,
  ORIGIN,
} from './bundle.testing.ts';
import { verifyBundle } from './bundle.ts';
import { runVerifier } from './command.ts';
import { readVerifierKey } from './note.ts';

const keys = [readVerifierKey(KEY)];
const SIZE = 31;
const otherSecret = Buffer.alloc(32, 4);
const otherKey = writeVerifierKey(ORIGIN, openSigner(otherSecret).publicKey);

const check = (bundle: unknown, since?: string) => verifyBundle(JSON.stringify(bundle), { keys, since });

/** Each changes a good bundle; the verifier must name the status. */
const TAMPERINGS: Readonly<Record<string, readonly [string, (bundle: MadeBundle) => void]>> = {
  'a payload that says something else': [
    'altered',
    ({ entries: [first] }) => {
      if (first?.payload !== undefined) first.payload = first.payload.replace('ALLOW', 'BLOCK');
    },
  ],
  'a payload and a leaf that agree with each other': [
    'altered',
    (bundle) => {
      const { index } = bundle.entries[1] ?? { index: 0 };
      bundle.entries[1] = { ...makeEntry(index + 3), index };
    },
  ],
  'a leaf with another time': [
    'altered',
    ({ entries: [first] }) => {
      if (first !== undefined) first.leaf = first.leaf.replace('2026-03-01', '2026-03-02');
    },
  ],
  'a leaf with a space': [
    'altered',
    ({ entries: [first] }) => {
      if (first !== undefined) first.leaf = first.leaf.replace('{', '{ ');
    },
  ],
  'another salt': [
    'altered',
    ({ entries: [first] }) => {
      if (first !== undefined) first.salt = Buffer.alloc(16).toString('base64');
    },
  ],
  'another disclosed member': [
    'altered',
    ({ entries: [first] }) => {
      if (first !== undefined) first.members = { arguments: '{"amount":"11"}' };
    },
  ],
  'a member that the entry does not have': [
    'altered',
    ({ entries: [first] }) => {
      if (first !== undefined) first.members = { ...first.members, result: '1' };
    },
  ],
  'another position': [
    'altered',
    ({ entries: [first] }) => {
      if (first !== undefined) first.index = 1;
    },
  ],
  'an entry left out, with its hash in its place': ['altered', ({ entries }) => void entries.splice(2, 1)],
  'a hash changed': [
    'altered',
    ({ hashes }) => {
      hashes[0] = Buffer.alloc(32).toString('base64');
    },
  ],
  'a hash missing': ['altered', ({ hashes }) => void hashes.pop()],
  'a hash too many': ['altered', ({ hashes }) => void hashes.push(Buffer.alloc(32).toString('base64'))],
  'another size under the same signature': [
    'altered',
    (bundle) => {
      bundle.checkpoint = bundle.checkpoint.replace(`\n${SIZE}\n`, `\n${SIZE + 1}\n`);
    },
  ],
  'entries in another order': ['unreadable', ({ entries }) => void entries.reverse()],
  'an entry given twice': [
    'unreadable',
    ({ entries }) => {
      if (entries[0] !== undefined) entries.unshift(entries[0]);
    },
  ],
  'a payload left out without saying so': ['unreadable', ({ entries: [first] }) => void delete first?.payload],
  'a checkpoint without signature': [
    'unreadable',
    (bundle) => {
      bundle.checkpoint = bundle.checkpoint.split('\n\n')[0] ?? '';
    },
  ],
  'a checkpoint with carriage returns': [
    'unreadable',
    (bundle) => {
      bundle.checkpoint = bundle.checkpoint.replaceAll('\n', '\r\n');
    },
  ],
  'a checkpoint with 65 signatures': [
    'unreadable',
    (bundle) => {
      const line = bundle.checkpoint.split('\n').at(-2) ?? '';
      bundle.checkpoint += `${line}\n`.repeat(64);
    },
  ],
  'another kind of subject': [
    'unreadable',
    ({ subject }) => {
      subject.kind = 'walk';
    },
  ],
  'another decision than it is about': [
    'incomplete',
    (bundle) => {
      bundle.subject = { kind: 'decision', id: 'd1' };
    },
  ],
  'no entry at all': [
    'incomplete',
    (bundle) => {
      bundle.entries = [];
      bundle.hashes = [bundle.checkpoint.split('\n')[2] ?? ''];
    },
  ],
  'an approval that no entry names': [
    'incomplete',
    (bundle) => {
      bundle.subject = { kind: 'approval', id: 'a1' };
    },
  ],
  'an order that no entry names': [
    'incomplete',
    (bundle) => {
      bundle.subject = { kind: 'order', id: 'o1' };
    },
  ],
  'a run that no entry names': [
    'incomplete',
    (bundle) => {
      bundle.subject = { kind: 'run', id: 'r3' };
    },
  ],
  'another format': [
    'unreadable',
    (bundle) => {
      bundle.format = 'agentlens-evidence/v9';
    },
  ],
};

describe('the offline verifier', () => {
  it('accepts evidence with a key that the reader gives', async () => {
    expect(check(await makeBundle(SIZE))).toMatchObject({
      ...{ status: 'proven', findings: [], entries: 11, withheld: 0 },
      checkpoint: { origin: ORIGIN, size: SIZE },
      warnings: ['signed, not witnessed: only the operator signed this checkpoint'],
    });
  });

  it.each(Object.entries(TAMPERINGS))('finds %s', async (_, [status, tamper]) => {
    const bundle = await makeBundle(SIZE);
    tamper(bundle);
    const verdict = check(bundle);
    expect({ status: verdict.status, findings: verdict.findings.length > 0 }).toEqual({ status, findings: true });
  });

  it('finds any single change of any character', async () => {
    const good = JSON.stringify(await makeBundle(7));
    const change = fc.tuple(fc.nat(good.length - 1), fc.constantFrom('0', 'x', '"', '\\', ' ', '}'));
    fc.assert(
      fc.property(change, ([at, character]) => {
        const changed = good.slice(0, at) + character + good.slice(at + 1);
        if (changed === good) return;
        expect(verifyBundle(changed, { keys }).status).not.toBe('proven');
      }),
      { numRuns: 1_000 },
    );
  });

  it('names the number of an entry that the maker of the bundle left out', async () => {
    const whole = await makeBundle(SIZE);
    const some = await makeBundle(SIZE);
    some.entries.splice(2, 1);
    // The maker knows all leaves, so the proof of the rest is right.
    const { planSharedProof } = await import('@agentlens/log');
    const { readLeaves } = await import('@agentlens/log/testing');
    const tree = readLeaves(Array.from({ length: SIZE }, (_, index) => makeEntry(index).leaf));
    const indices = some.entries.map(({ index }) => index);
    const hashes = await tree.prove(planSharedProof(indices, SIZE));
    expect(
      check({ ...whole, entries: some.entries, hashes: hashes.map((one) => one.toString('base64')) }),
    ).toMatchObject({
      status: 'incomplete',
      findings: [{ problem: 'entries of the run were left out: number 3' }],
    });
  });

  it('accepts evidence whose contents were redacted', async () => {
    const bundle = await makeBundle(SIZE);
    const [first, second] = bundle.entries;
    bundle.entries[0] = { index: first?.index ?? 0, leaf: first?.leaf ?? '', withheld: 'redacted' };
    if (second !== undefined) {
      delete second.members;
      delete second.memberSalt;
    }
    expect(check(bundle)).toMatchObject({ status: 'proven, parts withheld', withheld: 2, findings: [] });
  });

  it('accepts content that is gone only with the entry that removed it', async () => {
    const erase = ({ index, leaf }: MadeBundle['entries'][number]) => ({ index, leaf, withheld: 'erased' });
    const bundle = await makeErasedBundle(SIZE, [[6, 6]]);
    bundle.entries = bundle.entries.map((entry) => (entry.index === 6 ? erase(entry) : entry));
    expect(check(bundle)).toMatchObject({ status: 'proven, parts withheld', withheld: 1, findings: [] });

    const other = await makeErasedBundle(SIZE, [[7, 8]]);
    other.entries = other.entries.map((entry) => (entry.index === 6 ? erase(entry) : entry));
    expect(check(other)).toMatchObject({
      status: 'incomplete',
      findings: [{ index: 6, problem: 'the content is missing, and no erasure or retention names it' }],
    });
  });

  it('accepts a number that is missing only where a removal can have taken it', async () => {
    expect(check(await makeErasedBundle(SIZE, [[4, 8]], [6]))).toMatchObject({ status: 'proven', findings: [] });
    expect(check(await makeErasedBundle(SIZE, [[9, 12]], [6]))).toMatchObject({
      status: 'incomplete',
      findings: [{ problem: 'entries of the run were left out: number 3' }],
    });
  });

  it('does not trust the key of a forger', async () => {
    const bundle = await makeBundle(SIZE);
    const leaves = Array.from({ length: SIZE }, (_, index) => makeEntry(index).leaf);
    bundle.checkpoint = await makeCheckpoint(leaves, otherSecret);
    expect(check(bundle).status).toBe('unknown key');
    expect(verifyBundle(JSON.stringify(bundle), { keys: [readVerifierKey(otherKey)] }).status).toBe('proven');
  });

  it('does not take the checkpoint of another log', async () => {
    const bundle = await makeBundle(SIZE);
    const root = Buffer.from(bundle.checkpoint.split('\n')[2] ?? '', 'base64');
    bundle.checkpoint = signCheckpoint({ origin: 'other/log', size: SIZE, root }, openSigner(Buffer.alloc(32, 3)));
    expect(check(bundle).status).toBe('unknown key');
  });

  describe('with a checkpoint that the reader kept', () => {
    const leaves = (count: number) => Array.from({ length: count }, (_, index) => makeEntry(index).leaf);

    it('shows that the log only grew', async () => {
      expect(check(await makeBundle(SIZE, 12), await makeCheckpoint(leaves(12))).status).toBe('proven');
    });

    it.each([
      ['rewritten', async () => makeCheckpoint([...leaves(11), 'other'])],
      ['cut', async () => makeCheckpoint(leaves(SIZE + 1))],
      ['fork', async () => makeCheckpoint([...leaves(SIZE - 1), 'other'])],
    ])('finds that the log was %s', async (problem, since) => {
      const verdict = check(await makeBundle(SIZE, 12), await since());
      expect(verdict.status).toBe('altered');
      expect(verdict.findings[0]?.problem).toContain(problem);
    });
  });

  it.each([
    ['{"a":1,"a":2}', 'line 1: the member "a" twice'],
    ['{\n"a":1e400}', 'line 2: a value that is not JSON, or a number out of range'],
    ['['.repeat(100), 'line 1: more than 64 levels'],
    ['"\\ud800"', 'line 1: half of a character'],
    ['{} {}', 'line 1: text after the end of the document'],
    ['', 'line 1: a value that is not JSON, or a number out of range'],
  ])('refuses %s', (text, problem) => {
    expect(verifyBundle(text, { keys })).toMatchObject({ status: 'unreadable', findings: [{ problem }] });
  });
});

it('reads texts of many megabytes, and refuses them without an end', () => {
  const long = 'a'.repeat(12_000_000);
  for (const text of [`"${long}"`, `{"format":"${long}"}`, `{"format":"${long}`, `{"${long}":`])
    expect(verifyBundle(text, { keys }).status).toBe('unreadable');
});

describe('agentlens-verify', () => {
  const run = async (change: (bundle: MadeBundle) => void, ...args: string[]) => {
    const bundle = await makeBundle(SIZE);
    change(bundle);
    const lines: string[] = [];
    const files = { readText: () => JSON.stringify(bundle), print: (line: string) => void lines.push(line) };
    return { exit: runVerifier(['bundle', 'file.json', ...args], files), lines };
  };

  it('exits with the code of the verdict', async () => {
    const same = () => undefined;
    expect((await run(same, '--key', KEY)).exit).toBe(0);
    expect((await run(({ hashes }) => void hashes.pop(), '--key', KEY)).exit).toBe(1);
    expect((await run(same, '--key', otherKey)).exit).toBe(3);
    expect((await run(same, '--key', KEY, '--require-witness')).exit).toBe(4);
    expect((await run(({ entries }) => void entries.reverse(), '--key', KEY)).exit).toBe(5);
  });

  it('explains a key that cannot be read', async () => {
    const changed = KEY.replace(ORIGIN, 'test/log/2');
    expect(await run(() => undefined, '--key', changed)).toEqual({
      exit: 5,
      lines: ['unreadable: the key does not match its id: a character was changed'],
    });
    expect((await run(() => undefined)).exit).toBe(5);
  });
});
