import type { JsonObject } from '@agentlens/contracts';

/** Limits of an event (docs/wire-format.md). Contents are made to fit, because an exporter drops what is rejected. */
const MAX_CHARS = 256 * 1024;
/** Depth of the payload; the event around it uses three of the 32 levels. */
const MAX_DEPTH = 28;
const MAX_KEYS = 256;
const MAX_KEY_CHARS = 1_024;
const MAX_BYTES = 900_000;
/** Below this size no contents can exceed the bytes, regardless of escaping. */
const SURELY_FITS_CHARS = 100_000;
/** Maximum text lengths, tried in order until the contents fit. */
const SHORTER_TEXTS = [64 * 1024, 16 * 1024, 4 * 1024, 1_024, 256];

/** Contents in a form that can be stored, and notes about the changes. */
interface Repaired {
  readonly value: JsonObject;
  readonly notes: readonly string[];
}

export function repaired(value: JsonObject): Repaired {
  const repairer = new Repairer(MAX_CHARS);
  const first = repairer.object(value, 0);
  if (repairer.size <= SURELY_FITS_CHARS || fits(first)) return { value: first, notes: repairer.notes };
  for (const most of SHORTER_TEXTS) {
    const shorter = new Repairer(most);
    const tried = shorter.object(first, 0);
    if (fits(tried)) return { value: tried, notes: [...repairer.notes, ...shorter.notes] };
  }
  return { value: {}, notes: [...repairer.notes, `left out: the contents take more than ${MAX_BYTES} bytes`] };
}

function fits(value: JsonObject): boolean {
  return Buffer.byteLength(JSON.stringify(value)) <= MAX_BYTES;
}

class Repairer {
  /** Characters of all texts and keys, plus an allowance per value. */
  size = 0;
  readonly #notes = new Set<string>();

  constructor(private readonly maxChars: number) {}

  get notes(): readonly string[] {
    return [...this.#notes];
  }

  object(members: JsonObject, depth: number): JsonObject {
    const keys = Object.keys(members);
    const kept = keys.length > MAX_KEYS ? keys.slice(0, MAX_KEYS - 1) : keys;
    const repaired: JsonObject = {};
    for (const key of kept) {
      const name = this.#key(key);
      if (!Object.hasOwn(repaired, name) && members[key] !== undefined)
        repaired[name] = this.#value(members[key], depth + 1);
    }
    if (kept.length < keys.length) {
      repaired['…'] = `${keys.length - kept.length} more keys`;
      this.#notes.add(`cut: an object had ${keys.length} keys`);
    }
    return repaired;
  }

  #value(value: unknown, depth: number): unknown {
    this.size += 8;
    if (typeof value === 'string') return this.#text(value);
    if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
    if (typeof value !== 'object' || value === null) return value ?? null;
    if (depth >= MAX_DEPTH) {
      this.#notes.add(`flattened: contents were nested more than ${MAX_DEPTH} levels deep`);
      return this.#text(JSON.stringify(value));
    }
    return Array.isArray(value)
      ? value.map((item) => this.#value(item, depth + 1))
      : this.object(value as JsonObject, depth);
  }

  #key(key: string): string {
    this.size += key.length;
    if (key.length <= MAX_KEY_CHARS && key.isWellFormed() && !key.includes('\0') && key !== '__proto__') return key;
    this.#notes.add('renamed: a key was too long or held characters that cannot be stored');
    const clean = key === '__proto__' ? '_proto_' : key.replaceAll('\0', '\uFFFD').toWellFormed();
    return clean.length <= MAX_KEY_CHARS ? clean : `${clean.slice(0, MAX_KEY_CHARS - 1)}…`.toWellFormed();
  }

  #text(text: string): string {
    const whole = text.replaceAll('\0', '\uFFFD').toWellFormed();
    if (whole !== text) this.#notes.add('repaired: characters that cannot be stored became U+FFFD');
    const kept = whole.length <= this.maxChars ? whole : this.#shortened(whole);
    this.size += kept.length;
    return kept;
  }

  #shortened(text: string): string {
    const tail = `…[cut ${text.length - this.maxChars} characters]`;
    this.#notes.add(`cut: a text had ${text.length} characters`);
    return `${text.slice(0, Math.max(0, this.maxChars - tail.length)).toWellFormed()}${tail}`;
  }
}
