const UUID_V7 = /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;
const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/i;
const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const ULID_TIME_LENGTH = 10;

/** The instant a time-ordered id (UUIDv7 or ULID) was made at, ms; null for any other id. */
export function timeInId(id: string): number | null {
  const uuid = UUID_V7.exec(id);
  if (uuid !== null) return Number.parseInt(`${uuid[1]}${uuid[2]}`, 16);
  if (!ULID.test(id)) return null;
  let ms = 0;
  for (const character of id.slice(0, ULID_TIME_LENGTH).toUpperCase()) ms = ms * 32 + CROCKFORD.indexOf(character);
  return ms;
}
