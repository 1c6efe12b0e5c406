import { createHash, randomUUID } from 'node:crypto';

/**
 * Time-ordered id (RFC 9562 UUIDv7) for something that happens now. The random half comes from a UUIDv4, whose
 * generator keeps a pool. For many at once there is `idSeries`.
 */
export function timeOrderedId(nowMs: number): string {
  return `${timePrefix(nowMs)}${randomUUID().slice(15)}`;
}

/**
 * The same id for the same parts, shaped as a UUIDv7 whose time is `atMs`: what a redelivered message derives
 * again is recognised as the thing it already made.
 */
export function derivedId(atMs: number, ...parts: readonly (string | number)[]): string {
  const hash = createHash('sha256').update(JSON.stringify(parts)).digest('hex');
  const time = timeDigits(atMs);
  const variant = ((Number.parseInt(hash.slice(3, 4), 16) & 0x3) | 0x8).toString(16);
  return `${time.slice(0, 8)}-${time.slice(8)}-7${hash.slice(0, 3)}-${variant}${hash.slice(4, 7)}-${hash.slice(7, 19)}`;
}

const POSITIONS = 0x1000;

/**
 * The same id with its place in a series in the twelve bits after the time (RFC 9562 §6.2, method 1): ids that were made
 * for one instant sort in the order of their positions (0 to 4095; later ones share the last place).
 */
export function inPosition(id: string, position: number): string {
  const place = (POSITIONS + Math.min(position, POSITIONS - 1)).toString(16).slice(1);
  return `${id.slice(0, 15)}${place}${id.slice(18)}`;
}

/**
 * Time-ordered ids for things that came together, by their positions: they differ in those and share the random half,
 * of which a new one is drawn for every 4096 positions. Twice the same position is the same id.
 */
export function idSeries(atMs: number): (position: number) => string {
  const starts: string[] = [];
  return (position) => {
    const round = Math.floor(position / POSITIONS);
    starts[round] ??= timeOrderedId(atMs);
    return inPosition(starts[round], position % POSITIONS);
  };
}

/** Events come many to a millisecond, so the newest prefix is mostly the one that is wanted. */
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
