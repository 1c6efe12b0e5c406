const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;
const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/i;
const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const ULID_TIME_CHARS = 10;

/** Returns the time of a time-ordered id (UUIDv7 or ULID) in ms, or undefined for any other id. */
export function timeOfId(id: string): number | undefined {
  if (UUID_V7.test(id)) return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
  if (!ULID.test(id)) return undefined;
  let time = 0;
  for (const char of id.slice(0, ULID_TIME_CHARS).toUpperCase()) time = time * 32 + CROCKFORD.indexOf(char);
  return time;
}
