import { hashLeaf } from './hash.ts';
import { hashTile, TILE_WIDTH, TreeReader } from './tiles.ts';
import { Frontier } from './tree.ts';

/** Reads all tiles of these leaves from memory. */
export function readLeaves(leaves: readonly string[], size = leaves.length): TreeReader {
  const hashes = leaves.map(hashLeaf);
  const row = (level: number): Buffer[] => {
    if (level === 0) return hashes;
    const below = row(level - 1);
    return Array.from({ length: Math.floor(below.length / TILE_WIDTH) }, (_, n) =>
      hashTile(Buffer.concat(below.slice(n * TILE_WIDTH, (n + 1) * TILE_WIDTH))),
    );
  };
  const readTile = async (level: number, n: number, width: number) =>
    Buffer.concat(row(level).slice(n * TILE_WIDTH, n * TILE_WIDTH + width));
  return new TreeReader({ readTile }, size);
}

/** Roots of the trees of 0, 1, 2, … leaves. */
export function rootsOfGrowingTree(leaves: readonly string[]): Buffer[] {
  const frontier = new Frontier();
  return [
    frontier.root(),
    ...leaves.map((leaf) => {
      frontier.append(hashLeaf(leaf));
      return frontier.root();
    }),
  ];
}
