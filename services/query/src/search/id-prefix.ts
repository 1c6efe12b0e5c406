const LAYOUT = 'xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx';
const HEX = /^[0-9a-f]$/;
/** Sorts behind every character that an id may go on with. */
const LAST = '\u{10ffff}';
const DIGITS_OF_TIME = 12;

/** Texts that begin alike, as a range in the order of bytes. */
export function bytesFrom(prefix: string): { readonly first: string; readonly last: string } {
  return { first: prefix, last: `${prefix}${LAST}` };
}

/**
 * The range of UUIDs that begin so, if any does. Their order is the same in every collation: hyphens stand at the same
 * places, and digits come before letters.
 */
export function uuidsFrom(prefix: string): { readonly first: string; readonly last: string } | null {
  const text = prefix.toLowerCase();
  if (text.length > LAYOUT.length) return null;
  const fits = Array.from(text).every((character, i) => (LAYOUT[i] === '-' ? character === '-' : HEX.test(character)));
  if (!fits) return null;
  const rest = LAYOUT.slice(text.length);
  return { first: text + rest.replaceAll('x', '0'), last: text + rest.replaceAll('x', 'f') };
}

/** The time that a UUID of version 7 carries, ms. */
export function timeIn(uuid: string): number {
  return Number.parseInt(uuid.replaceAll('-', '').slice(0, DIGITS_OF_TIME), 16);
}
