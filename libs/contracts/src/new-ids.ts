import { createHash, randomUUID } from 'node:crypto';

/**
 * Creates a time-ordered id (RFC 9562 UUIDv7). The random half comes from a UUIDv4, whose generator keeps a pool. For
 * many ids at once use `idSeries`.
 */
export function timeOrderedId(nowMs: number): string {
  return `${timePrefix(nowMs)}${randomUUID().slice(15)}`;
}

/**
 * Derives the same id from the same parts, in the format of a UUIDv7 with the time `atMs`, so that a redelivered
 * message recognizes what it has already created.
 */
export function derivedId(atMs: number, ...parts: readonly (string | number)[]): string {
  const hash = createHash('sha256').update(JSON.stringify(parts)).digest('hex');
  const time = timeDigits(atMs);
  const variant = ((Number.parseInt(hash.slice(3, 4), 16) & 0x3) | 0x8).toString(16);
  return `${time.slice(0, 8)}-${time.slice(8)}-7${hash.slice(0, 3)}-${variant}${hash.slice(4, 7)}-${hash.slice(7, 19)}`;
}

const POSITIONS = 0x1000;

/**
 * Returns the id with a position in the twelve bits after the time (RFC 9562 §6.2, method 1), so that ids of one
 * instant sort by position (0 to 4095; later ones share the last).
 */
export function inPosition(id: string, position: number): string {
  const place = (POSITIONS + Math.min(position, POSITIONS - 1)).toString(16).slice(1);
  return `${id.slice(0, 15)}${place}${id.slice(18)}`;
}

/**
 * Creates time-ordered ids by position for things that arrive together. They share a random half, which is renewed
 * every 4096 positions. The same position gives the same id.
 */
export function idSeries(atMs: number): (position: number) => string {
  const starts: string[] = [];
  return (position) => {
    const round = Math.floor(position / POSITIONS);
    starts[round] ??= timeOrderedId(atMs);
    return inPosition(starts[round], position % POSITIONS);
  };
}

/** Cache of the latest prefix, because many events fall into one millisecond. */
let newest = { atMs: Number.NaN, prefix: '' };

function timePrefix(atMs: number): string {
  if (newest.atMs === atMs) return newest.prefix;
  const time = timeDigits(atMs);
  newest = { atMs, prefix: `${time.slice(0, 8)}-${time.slice(8)}-7` };
  return newest.prefix;
}

function timeDigits(atMs: number): string {
  return Math.max(0, Math.floor(atMs)).toString(16).padStart(12, '0').slice(-12);
}
