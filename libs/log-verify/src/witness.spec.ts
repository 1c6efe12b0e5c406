import { createHash } from 'node:crypto';
import { openSigner, planConsistency, signCheckpoint, writeVerifierKey } from '@agentlens/log';
import { readLeaves } from '@agentlens/log/testing';
import { describe, expect, it } from '@jest/globals';
import { makeCheckpoint, makeWitness, ORIGIN } from './bundle.testing.ts';
import { openCheckpoint, readVerifierKey, UnreadableInput } from './note.ts';
import { openCosigner, Witness, type WitnessState } from './witness.ts';

const SECRET = Buffer.alloc(32, 31);
const NOW_MS = 1_679_315_147_999;
const LOG_SECRET = Buffer.alloc(32, 3);
const logKey = readVerifierKey(writeVerifierKey(ORIGIN, openSigner(LOG_SECRET).publicKey));
const cosigner = openCosigner('witness.example/w1', SECRET);
const own = readVerifierKey(cosigner.verifierKey);
const leaves = Array.from({ length: 40 }, (_, n) => `leaf ${n}`);
/** The same log with another third leaf. */
const fork = leaves.map((leaf, n) => (n === 2 ? 'other' : leaf));

function makeOne(state: WitnessState = {}, fails = false) {
  const stored: WitnessState[] = [];
  const store = (next: WitnessState) => {
    if (fails) throw new Error('disk full');
    stored.push(next);
  };
  return { witness: new Witness({ cosigner, logs: [logKey], state, store, nowMs: () => NOW_MS }), stored };
}

const prove = (from: number, to: number, of: readonly string[] = leaves) =>
  readLeaves(of.slice(0, to)).prove(planConsistency(from, to));

const write = (old: number | string, proof: readonly Buffer[], note: string) =>
  `old ${old}\n${proof.map((hash) => `${hash.toString('base64')}\n`).join('')}\n${note}`;

/** What a log of these leaves asks for. */
async function ask(old: number, size: number, of: readonly string[] = leaves): Promise<string> {
  const proof = old === 0 || old >= size ? [] : await prove(old, size, of);
  return write(old, proof, await makeCheckpoint(of.slice(0, size), LOG_SECRET));
}

describe('a witness', () => {
  it('has the key and the cosignatures of the specification', async () => {
    const other = makeWitness('witness.example/w1', SECRET);
    expect(cosigner.verifierKey).toBe(other.key);
    const note = await makeCheckpoint(['a']);
    const text = note.slice(0, note.indexOf('\n\n') + 1);
    expect(note + cosigner.cosign(text, 1_679_315_147)).toBe(other.cosign(note, 1_679_315_147n));
    expect(() => openCosigner('two words', SECRET)).toThrow(UnreadableInput);
    expect(() => openCosigner('name', Buffer.alloc(31))).toThrow(UnreadableInput);
  });

  it('cosigns a log that grows, and says when', async () => {
    const { witness, stored } = makeOne();
    for (const [old, size] of [
      [0, 1],
      [1, 1],
      [1, 8],
      [8, 9],
      [9, 40],
    ] as const) {
      const { status, body } = witness.addCheckpoint(await ask(old, size));
      expect(status).toBe(200);
      const note = (await makeCheckpoint(leaves.slice(0, size), LOG_SECRET)) + body;
      expect(openCheckpoint(note, [own]).signatures[0]?.at?.toISOString()).toBe('2023-03-20T12:25:47.000Z');
      expect(stored.at(-1)).toEqual({ [ORIGIN]: note });
    }
  });

  it('serves what it cosigned, for readers of its own', async () => {
    const { witness, stored } = makeOne();
    const hash = createHash('sha256').update(ORIGIN).digest('hex');
    expect(witness.checkpoint(hash)).toBeUndefined();
    witness.addCheckpoint(await ask(0, 7));
    expect(witness.checkpoint(hash)).toBe(stored[0]?.[ORIGIN]);
    expect(openCheckpoint(witness.checkpoint(hash) ?? '', [own, logKey]).signedBy).toEqual([ORIGIN, own.name]);
  });

  it('begins with an empty log', async () => {
    const { witness } = makeOne();
    expect(witness.addCheckpoint(await ask(0, 0)).status).toBe(200);
    expect(witness.addCheckpoint(await ask(0, 5)).status).toBe(200);
  });

  const hostile: Readonly<Record<string, readonly [number, () => Promise<string>]>> = {
    'a log put back': [409, () => ask(5, 6)],
    'a log put back, as if new': [409, () => ask(0, 5)],
    'a size that it does not know': [409, () => ask(15, 20)],
    'a fork of the same size': [422, async () => write(10, [], await makeCheckpoint(fork.slice(0, 10), LOG_SECRET))],
    'a fork that grew': [422, () => ask(10, 20, fork)],
    'the proof of another size': [
      422,
      async () => write(10, await prove(9, 20), await makeCheckpoint(leaves.slice(0, 20), LOG_SECRET)),
    ],
    'no proof': [422, async () => write(10, [], await makeCheckpoint(leaves.slice(0, 20), LOG_SECRET))],
    'a proof with a hash more': [
      422,
      async () =>
        write(10, [...(await prove(10, 20)), Buffer.alloc(32)], await makeCheckpoint(leaves.slice(0, 20), LOG_SECRET)),
    ],
    'a proof of nothing': [
      422,
      async () => write(10, [Buffer.alloc(32)], await makeCheckpoint(leaves.slice(0, 10), LOG_SECRET)),
    ],
    'an old size beyond the checkpoint': [400, () => ask(10, 9)],
    'another key': [403, async () => write(10, [], await makeCheckpoint(leaves.slice(0, 20), SECRET))],
    'another text below the signature': [403, async () => (await ask(10, 20)).replace('\n20\n', '\n21\n')],
    'another log': [404, async () => write(10, [], await makeCheckpoint(leaves, LOG_SECRET, 'other/log'))],
    'a size that is no exact number': [
      400,
      async () =>
        write(
          10,
          [],
          signCheckpoint({ origin: ORIGIN, size: 2 ** 53, root: Buffer.alloc(32) }, openSigner(LOG_SECRET)),
        ),
    ],
  };

  it.each(Object.entries(hostile))('does not cosign %s', async (_, [status, request]) => {
    const { witness, stored } = makeOne();
    witness.addCheckpoint(await ask(0, 10));
    const answer = witness.addCheckpoint(await request());
    expect({ status: answer.status, stored: stored.length }).toEqual({ status, stored: 1 });
    expect(answer.misbehaviour === undefined).toBe(status !== 422);
    if (status === 409) expect(answer).toMatchObject({ type: 'text/x.tlog.size', body: '10\n' });
    expect(witness.addCheckpoint(await ask(10, 20)).status).toBe(200);
  });

  it('does not take a proof or a root for an empty log', async () => {
    const { witness } = makeOne();
    const root = Buffer.alloc(32);
    const empty = signCheckpoint({ origin: ORIGIN, size: 0, root }, openSigner(LOG_SECRET));
    expect(witness.addCheckpoint(write(0, [], empty)).status).toBe(422);
    expect(witness.addCheckpoint(write(0, [root], await makeCheckpoint(leaves, LOG_SECRET))).status).toBe(422);
  });

  it.each([
    ['', 'nothing'],
    ['old 1\n', 'no checkpoint'],
    ['old 01\n\n', 'a size with a zero before it'],
    ['old -1\n\n', 'a size below zero'],
    ['new 1\n\n', 'another line'],
    ['old 1\nAAAA\n\n', 'a hash that is too short'],
    [`old 1\n${`${Buffer.alloc(32).toString('base64')}\n`.repeat(64)}\n`, '64 hashes'],
  ])('refuses %j: %s', async (start) => {
    const { witness } = makeOne();
    expect(witness.addCheckpoint(start + (start === '' ? '' : await makeCheckpoint(leaves, LOG_SECRET))).status).toBe(
      400,
    );
  });

  it('signs nothing that it could not store', async () => {
    const { witness } = makeOne({}, true);
    const request = await ask(0, 10);
    expect(() => witness.addCheckpoint(request)).toThrow('disk full');
    expect(witness.checkpoint(createHash('sha256').update(ORIGIN).digest('hex'))).toBeUndefined();
  });

  it('begins where it stopped, and only with a state that it signed', async () => {
    const { witness, stored } = makeOne();
    witness.addCheckpoint(await ask(0, 10));
    const [state = {}] = stored;
    expect(makeOne(state).witness.addCheckpoint(await ask(0, 5)).status).toBe(409);
    expect(makeOne(state).witness.addCheckpoint(await ask(10, 20)).status).toBe(200);

    const note = state[ORIGIN] ?? '';
    expect(() => makeOne({ [ORIGIN]: note.replace('\n10\n', '\n9\n') })).toThrow('does not match the checkpoint');
    expect(() => makeOne({ 'other/log': note })).toThrow('not signed by this witness');
    expect(() => makeOne({ [ORIGIN]: note.replace(/— witness.*\n/, '') })).toThrow('not signed by this witness');
  });

  it('does not take the key of a witness for that of a log', () => {
    expect(() => new Witness({ cosigner, logs: [own], state: {}, store: () => undefined, nowMs: () => 0 })).toThrow(
      UnreadableInput,
    );
  });
});
