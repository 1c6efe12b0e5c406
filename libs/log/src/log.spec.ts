import { canonicalJson } from '@agentlens/contracts';
import { describe, expect, it } from '@jest/globals';
import { digestMember, digestPayload, writeLeaf } from './entry.ts';
import { EMPTY_ROOT, hashLeaf } from './hash.ts';
import { makeSigningKey, openSigner, signCheckpoint, writeProof, writeVerifierKey } from './note.ts';
import { planConsistency, planInclusion } from './tree.ts';
import { countTileHashes } from './tiles.ts';
import { readLeaves, rootsOfGrowingTree } from './tree.testing.ts';

/** Leaves and roots of the reference tests of Certificate Transparency (RFC 6962). */
const REFERENCE_LEAVES = [
  '',
  '00',
  '10',
  '2021',
  '3031',
  '40414243',
  '5051525354555657',
  '606162636465666768696a6b6c6d6e6f',
];
const REFERENCE_ROOTS = [
  '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
  '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
  'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
  '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
];

describe('the tree', () => {
  it('has the roots of the reference tests', () => {
    // The reference leaves are bytes below 0x80, except where a text of one byte each is the same.
    const leaves = REFERENCE_LEAVES.map((hex) => Buffer.from(hex, 'hex').toString('latin1'));
    expect(rootsOfGrowingTree(leaves).map((root) => root.toString('hex'))).toEqual([
      EMPTY_ROOT.toString('hex'),
      ...REFERENCE_ROOTS,
    ]);
  });

  it('has the empty root of RFC 6962', () => {
    expect(EMPTY_ROOT.toString('hex')).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
  });

  it('reads the same roots from tiles as it had when it grew, across three levels of tiles', async () => {
    const leaves = Array.from({ length: 66_000 }, (_, n) => `${n}`);
    const roots = rootsOfGrowingTree(leaves);
    const { source } = { source: readLeaves(leaves) };
    expect(await source.root()).toEqual(roots.at(-1));
    for (const size of [255, 256, 257, 65_535, 65_536, 65_537])
      expect(await readLeaves(leaves.slice(0, size)).root()).toEqual(roots[size]);
  });

  it('differs for leaves in another order, and for a last leaf that is given twice', () => {
    const rootOf = (...leaves: string[]) => rootsOfGrowingTree(leaves).at(-1);
    expect(rootOf('a', 'b', 'c')).not.toEqual(rootOf('a', 'c', 'b'));
    expect(rootOf('a', 'b', 'c')).not.toEqual(rootOf('a', 'b', 'c', 'c'));
  });

  it('has no proof for a leaf or a tree that does not exist', () => {
    expect(() => planInclusion(0, 0)).toThrow(RangeError);
    expect(() => planInclusion(4, 4)).toThrow(RangeError);
    expect(() => planConsistency(0, 4)).toThrow(RangeError);
    expect(() => planConsistency(5, 4)).toThrow(RangeError);
  });

  it('counts the hashes of partial tiles', () => {
    expect([0, 1, 2].map((n) => countTileHashes(0, n, 300))).toEqual([256, 44, 0]);
    expect(countTileHashes(1, 0, 300)).toBe(1);
  });
});

describe('entries', () => {
  const leaf = { kind: 'decision', id: 'd1', at: '2026-03-01T12:00:00.000Z', digest: 'ab', writer: 'w#1' } as const;

  it('are canonical texts', () => {
    expect(writeLeaf(leaf)).toBe(
      '{"at":"2026-03-01T12:00:00.000Z","digest":"ab","id":"d1","kind":"decision","v":2,"writer":"w#1"}',
    );
  });

  it('have digests that depend on salt, payload and use', () => {
    const salt = Buffer.alloc(16, 1);
    const digests = [
      digestPayload(salt, '{}'),
      digestPayload(Buffer.alloc(16, 2), '{}'),
      digestPayload(salt, '[]'),
      digestMember(salt, 'arguments', '{}'),
      digestMember(salt, 'result', '{}'),
    ];
    expect(new Set(digests).size).toBe(5);
  });

  it('write numbers as RFC 8785 does', () => {
    const numbers: Readonly<Record<string, number>> = {
      '0': -0,
      '5e-324': 5e-324,
      '1.7976931348623157e+308': Number.MAX_VALUE,
      '9007199254740992': 9007199254740992,
      '295147905179352830000': 295147905179352830000,
      '1e+21': 1e21,
      '999999999999999900000': 999999999999999900000,
      '1e+23': 1e23,
      '333333333.3333333': 333333333.3333333,
      '0.000001': 0.000001,
      '1e-7': 1e-7,
      '-0.0000033333333333333333': -0.0000033333333333333333,
    };
    for (const [text, value] of Object.entries(numbers)) expect(canonicalJson(value)).toBe(text);
  });
});

describe('checkpoints', () => {
  const secret = Buffer.alloc(32, 7);
  const root = hashLeaf('one');

  it('are signed notes', () => {
    const note = signCheckpoint({ origin: 'example.com/log/x', size: 1, root }, openSigner(secret));
    expect(note).toMatch(/^example\.com\/log\/x\n1\n[\w+/]{43}=\n\n— example\.com\/log\/x [\w+/]{91}=\n$/);
    expect(writeProof(0, [root], note).split('\n').slice(0, 3)).toEqual([
      'c2sp.org/tlog-proof@v1',
      'index 0',
      root.toString('base64'),
    ]);
  });

  it('are signed with keys of 32 bytes', () => {
    expect(openSigner(makeSigningKey()).publicKey).toHaveLength(32);
    expect(() => openSigner(Buffer.alloc(31))).toThrow('32 bytes');
    expect(writeVerifierKey('name', openSigner(secret).publicKey)).toMatch(/^name\+[0-9a-f]{8}\+A/);
  });
});
