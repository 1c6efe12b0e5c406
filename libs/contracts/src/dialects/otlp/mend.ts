import type { JsonObject } from '../../events.ts';

/** What an event may hold (docs/wire-format.md). An exporter drops what is refused, so contents are made to fit. */
const MOST_CHARS = 256 * 1024;
/** Of the payload alone; the event around it takes three levels less than the 32 it may have. */
const MOST_DEPTH = 28;
const MOST_KEYS = 256;
const MOST_KEY_CHARS = 1_024;
const MOST_BYTES = 900_000;
/** Below this no text can take too many bytes, however it is escaped. */
const SURELY_FITS_CHARS = 100_000;
/** Tried one after the other until the whole fits. */
const SHORTER_TEXTS = [64 * 1024, 16 * 1024, 4 * 1024, 1_024, 256];

/** The same contents in a form that can be stored, and what was done to them. */
interface Mended {
  readonly value: JsonObject;
  readonly notes: readonly string[];
}

export function mended(value: JsonObject): Mended {
  const mender = new Mender(MOST_CHARS);
  const first = mender.object(value, 0);
  if (mender.size <= SURELY_FITS_CHARS || fits(first)) return { value: first, notes: mender.notes };
  for (const most of SHORTER_TEXTS) {
    const shorter = new Mender(most);
    const tried = shorter.object(first, 0);
    if (fits(tried)) return { value: tried, notes: [...mender.notes, ...shorter.notes] };
  }
  return { value: {}, notes: [...mender.notes, `left out: the contents take more than ${MOST_BYTES} bytes`] };
}

function fits(value: JsonObject): boolean {
  return Buffer.byteLength(JSON.stringify(value)) <= MOST_BYTES;
}

class Mender {
  /** Characters of all texts and keys, and some for every value. */
  size = 0;
  readonly #notes = new Set<string>();

  constructor(private readonly mostChars: number) {}

  get notes(): readonly string[] {
    return [...this.#notes];
  }

  object(members: JsonObject, depth: number): JsonObject {
    const keys = Object.keys(members);
    const kept = keys.length > MOST_KEYS ? keys.slice(0, MOST_KEYS - 1) : keys;
    const mended: JsonObject = {};
    for (const key of kept) {
      const name = this.#key(key);
      if (!Object.hasOwn(mended, name) && members[key] !== undefined)
        mended[name] = this.#value(members[key], depth + 1);
    }
    if (kept.length < keys.length) {
      mended['…'] = `${keys.length - kept.length} more keys`;
      this.#notes.add(`cut: an object had ${keys.length} keys`);
    }
    return mended;
  }

  #value(value: unknown, depth: number): unknown {
    this.size += 8;
    if (typeof value === 'string') return this.#text(value);
    if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
    if (typeof value !== 'object' || value === null) return value ?? null;
    if (depth >= MOST_DEPTH) {
      this.#notes.add(`flattened: contents were nested more than ${MOST_DEPTH} levels deep`);
      return this.#text(JSON.stringify(value));
    }
    return Array.isArray(value)
      ? value.map((item) => this.#value(item, depth + 1))
      : this.object(value as JsonObject, depth);
  }

  #key(key: string): string {
    this.size += key.length;
    if (key.length <= MOST_KEY_CHARS && key.isWellFormed() && !key.includes('\0') && key !== '__proto__') return key;
    this.#notes.add('renamed: a key was too long or held characters that cannot be stored');
    const clean = key === '__proto__' ? '_proto_' : key.replaceAll('\0', '\uFFFD').toWellFormed();
    return clean.length <= MOST_KEY_CHARS ? clean : `${clean.slice(0, MOST_KEY_CHARS - 1)}…`.toWellFormed();
  }

  #text(text: string): string {
    const whole = text.replaceAll('\0', '\uFFFD').toWellFormed();
    if (whole !== text) this.#notes.add('repaired: characters that cannot be stored became U+FFFD');
    const kept = whole.length <= this.mostChars ? whole : this.#shortened(whole);
    this.size += kept.length;
    return kept;
  }

  #shortened(text: string): string {
    const tail = `…[cut ${text.length - this.mostChars} characters]`;
    this.#notes.add(`cut: a text had ${text.length} characters`);
    return `${text.slice(0, Math.max(0, this.mostChars - tail.length)).toWellFormed()}${tail}`;
  }
}
