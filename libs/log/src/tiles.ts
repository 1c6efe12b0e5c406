import { HASH_BYTES, hashPair } from './hash.ts';
import { foldHashes, type Node, type ProofPart, splitRange } from './tree.ts';

/** Hashes in a full tile, and the levels of the tree that it spans (C2SP tlog-tiles). */
export const TILE_WIDTH = 256;
const TILE_HEIGHT = 8;

/** Serves hashes of tiles: `width` hashes from the start of tile `n` at `level`. */
export interface TileSource {
  readTile(level: number, n: number, width: number): Promise<Buffer>;
}

/** Number of hashes of a tile in a tree of `size` leaves: 256 if it is full, 0 if it is beyond the end. */
export function countTileHashes(level: number, n: number, size: number): number {
  const row = Math.floor(size / 2 ** (TILE_HEIGHT * level));
  return Math.max(0, Math.min(TILE_WIDTH, row - n * TILE_WIDTH));
}

/** Joins 256 hashes to the root of the tile. */
export function hashTile(hashes: Buffer): Buffer {
  return rowsAbove(splitHashes(hashes)).at(-1)?.[0] ?? foldHashes([]);
}

function splitHashes(bytes: Buffer): Buffer[] {
  return Array.from({ length: bytes.length / HASH_BYTES }, (_, at) =>
    bytes.subarray(at * HASH_BYTES, (at + 1) * HASH_BYTES),
  );
}

/** All complete rows of a tile, the given one first. */
function rowsAbove(row: readonly Buffer[]): (readonly Buffer[])[] {
  const rows: (readonly Buffer[])[] = [row];
  for (let below = row; below.length > 1; ) {
    const above: Buffer[] = [];
    for (let at = 0; at + 1 < below.length; at += 2) {
      const [left, right] = [below[at], below[at + 1]];
      if (left !== undefined && right !== undefined) above.push(hashPair(left, right));
    }
    rows.push(above);
    below = above;
  }
  return rows;
}

/** A tile that a log of this size must have, and does not. */
class MissingTile extends Error {
  override readonly name = 'MissingTile';
}

export function isMissingTile(error: unknown): error is Error {
  return error instanceof MissingTile || error instanceof RangeError;
}

/** Reads hashes of a tree of `size` leaves. Reads and hashes each tile once. */
export class TreeReader {
  readonly #tiles = new Map<string, Promise<(readonly Buffer[])[]>>();

  constructor(
    private readonly source: TileSource,
    readonly size: number,
  ) {}

  async root(): Promise<Buffer> {
    return this.#hash(splitRange({ from: 0, to: this.size }));
  }

  /** Hashes of the perfect subtrees of the first `size` leaves, largest first. */
  frontier(size = this.size): Promise<Buffer[]> {
    return Promise.all(splitRange({ from: 0, to: size }).map((node) => this.#node(node)));
  }

  prove(parts: readonly ProofPart[]): Promise<Buffer[]> {
    return Promise.all(parts.map((part) => this.#hash(part)));
  }

  async #hash(nodes: readonly Node[]): Promise<Buffer> {
    return foldHashes(await Promise.all(nodes.map((node) => this.#node(node))));
  }

  async #node({ height, index }: Node): Promise<Buffer> {
    const level = Math.floor(height / TILE_HEIGHT);
    const inner = height % TILE_HEIGHT;
    const perTile = TILE_WIDTH / 2 ** inner;
    const n = Math.floor(index / perTile);
    const rows = await this.#tile(level, n);
    const hash = rows[inner]?.[index - n * perTile];
    if (hash === undefined) throw new RangeError(`node ${index} at height ${height} is beyond ${this.size} leaves`);
    return hash;
  }

  #tile(level: number, n: number): Promise<(readonly Buffer[])[]> {
    const key = `${level}/${n}`;
    const known = this.#tiles.get(key);
    if (known !== undefined) return known;
    const width = countTileHashes(level, n, this.size);
    const read = this.source.readTile(level, n, width).then((bytes) => {
      if (bytes.length !== width * HASH_BYTES) throw new MissingTile(`tile ${key} has ${bytes.length} bytes`);
      return rowsAbove(splitHashes(bytes));
    });
    this.#tiles.set(key, read);
    return read;
  }
}

/** A resource of a tiled log (C2SP tlog-tiles): hashes at a level, or the entries below a tile of level 0. */
export interface TileResource {
  /** `entries` for the leaves themselves. */
  readonly level: number | 'entries';
  readonly n: number;
  readonly width: number;
}

const PATH = /^tile\/(0|[1-9]\d?|entries)\/((?:x\d{3}\/)*\d{3})(?:\.p\/([1-9]\d{0,2}))?$/;
const MAX_LEVEL = 63;
/** More elements would be beyond what a number can hold. */
const MAX_ELEMENTS = 4;

/**
 * Reads a path below the prefix of the log: `tile/<L>/<N>[.p/<W>]`, N in elements of three digits, all but the last with
 * an `x` before it. @returns undefined if it is not exactly of this form
 */
export function parseTilePath(path: string): TileResource | undefined {
  const [, level, index = '', width] = PATH.exec(path) ?? [];
  if (level === undefined) return undefined;
  const elements = index.split('/').map((element) => element.replace('x', ''));
  // Leading elements of zeros would give a tile two addresses.
  if (elements.length > MAX_ELEMENTS || (elements.length > 1 && elements[0] === '000')) return undefined;
  if (width !== undefined && Number(width) >= TILE_WIDTH) return undefined;
  if (level !== 'entries' && Number(level) > MAX_LEVEL) return undefined;
  return {
    level: level === 'entries' ? level : Number(level),
    n: Number(elements.join('')),
    width: width === undefined ? TILE_WIDTH : Number(width),
  };
}

const MAX_LENGTH = 0xff_ff;

/** An entry bundle: each leaf after its length in two bytes, the higher one first. */
export function writeEntryBundle(leaves: readonly string[]): Buffer {
  return Buffer.concat(
    leaves.flatMap((leaf) => {
      const bytes = Buffer.from(leaf, 'utf8');
      if (bytes.length > MAX_LENGTH) throw new RangeError(`a leaf of ${bytes.length} bytes does not fit into a bundle`);
      return [Buffer.of(bytes.length >> 8, bytes.length & 0xff), bytes];
    }),
  );
}
