import { createHash, hash } from 'node:crypto';

export const HASH_BYTES = 32;

const LEAF = Buffer.of(0x00);
const PAIR = Buffer.alloc(1 + 2 * HASH_BYTES, 0x01);

/** Hash of a leaf as in RFC 6962: SHA-256 over 0x00 and the leaf. */
export function hashLeaf(leaf: string): Buffer {
  return createHash('sha256').update(LEAF).update(leaf, 'utf8').digest();
}

/** Hash of an inner node as in RFC 6962: SHA-256 over 0x01 and both children. */
export function hashPair(left: Uint8Array, right: Uint8Array): Buffer {
  PAIR.set(left, 1);
  PAIR.set(right, 1 + HASH_BYTES);
  return hash('sha256', PAIR, 'buffer');
}

/** Root of an empty tree. */
export const EMPTY_ROOT: Buffer = hash('sha256', '', 'buffer');
