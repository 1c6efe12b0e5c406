import { sha256Hex } from '@agentlens/contracts';

/** Shorter values are not distinctive. */
const MIN_TOKEN_CHARS = 6;
/** Values of this length are distinctive without a digit. */
const MIN_WORD_CHARS = 10;
/** Length of a shingle. */
const SHINGLE = 10;
/** Of this many consecutive shingles, at least one is kept: shared parts of 13 characters are always found. */
const WINDOW = 4;
/** Texts up to this length are compared at every position. */
const MAX_EVERY_POSITION = 256;
const MAX_VALUES = 2_000;
const MAX_CHARS = 65_536;
/** Units of work to normalise the texts of one call: an ASCII character is one, any other one is several. */
const MAX_UNITS = 4 * MAX_CHARS;
/** Normalising makes up to 18 characters of one; those it makes count. */
const UNITS_PER_CHAR = 4;
/** Levels of a value that are read, including those in strings of JSON. */
const MAX_DEPTH = 64;
/** Texts are normalised in pieces of this many characters, so that the limit holds after the expansion too. */
const PIECE_CHARS = 1_024;
export const MAX_PRINTS = 4_000;
const MAX_FIELD_CHARS = 128;
const PRINT_CHARS = 20;

/** Where a fingerprint comes from. */
export interface PrintPlace {
  /** Path of the value in the result, like `customers.0.email`. */
  readonly field: string;
  /** Proves the whole value: a shingle at `offset` of a value of `length` characters whose hash is `value`. */
  readonly whole?: { readonly offset: number; readonly length: number; readonly value: string };
}

/** Salted hashes of the distinctive parts of a result. They do not contain it. */
export interface Fingerprints {
  readonly prints: ReadonlyMap<string, PrintPlace>;
  /** False if the value is too large to be fingerprinted as a whole. */
  readonly isComplete: boolean;
}

/** What the arguments of a call share with results. */
export interface Candidates {
  readonly prints: readonly string[];
  readonly isComplete: boolean;
  /** Returns true if the whole value of a print occurs in the arguments. */
  isWhole(print: string, place: PrintPlace): boolean;
}

/** Fingerprints the result of a source call. */
export function fingerprintsOf(result: unknown, salt: string): Fingerprints {
  const { values, isComplete } = valuesOf(result);
  const reader = new Normaliser();
  const prints = new Map<string, PrintPlace>();
  for (const [print, place] of printsOf(values, reader, salt)) {
    if (prints.get(print)?.whole === undefined) prints.set(print, place);
    if (prints.size > MAX_PRINTS) return { prints: new Map([...prints].slice(0, MAX_PRINTS)), isComplete: false };
  }
  return { prints, isComplete: isComplete && reader.isComplete };
}

/** Lazily, because nothing is hashed beyond the maximum number of prints. */
function* printsOf(values: readonly FieldValue[], reader: Normaliser, salt: string): Generator<[string, PrintPlace]> {
  for (const { field, text, isName } of values) {
    if (isName && !isDataName(text)) continue;
    const value = reader.normalised(text);
    for (const token of tokensOf(text, reader)) yield [hashOf(salt, 'token', token), { field }];
    if (!isDistinctive(value)) continue;
    const whole = { offset: 0, length: value.length, value: hashOf(salt, 'value', value) };
    yield [hashOf(salt, 'token', value), { field, whole }];
    let isFirst = true;
    for (const { offset, shingle } of winnowed(value)) {
      yield [hashOf(salt, 'shingle', shingle), { field, ...(isFirst ? { whole: { ...whole, offset } } : {}) }];
      isFirst = false;
    }
  }
}

/** Finds what to compare in arguments: as they are, decoded from base64 and URL encoding, and joined in order. */
export function candidatesOf(args: unknown, salt: string): Candidates {
  const { values, isComplete } = valuesOf(args);
  const reader = new Normaliser();
  // A member's name is joined with the values only if it can be data: most names say what the value is.
  const texts = values.flatMap(({ text, isName }) => (isName && !isDataName(text) ? [] : [text]));
  const names = values.flatMap(({ text, isName }) => (isName ? [text] : []));
  const budget = new DecodingBudget();
  const decoded = texts.flatMap((text) => decodings(text, budget));
  // Joined, so that a value that was split between arguments is whole again.
  const joined = [texts, decoded]
    .map((list) => list.map((text) => reader.normalised(text)).join(''))
    .filter((text) => text !== '');
  const places = new Map<string, { readonly text: string; readonly at: number }[]>();
  for (const [print, place] of candidatePrints(joined, [...texts, ...names, ...decoded], reader, salt)) {
    const known = places.get(print);
    if (known === undefined) places.set(print, [place]);
    else if (known.length < WINDOW) known.push(place);
    if (places.size > MAX_PRINTS) break;
  }
  const all = [...places.keys()];
  return {
    prints: all.slice(0, MAX_PRINTS),
    isComplete: isComplete && reader.isComplete && !budget.isSpent && all.length <= MAX_PRINTS,
    isWhole: (print, { whole }) =>
      whole !== undefined &&
      (places.get(print) ?? []).some(({ text, at }) => {
        const from = Math.max(0, at - whole.offset);
        return hashOf(salt, 'value', text.slice(from, from + whole.length)) === whole.value;
      }),
  };
}

type CandidatePrint = [print: string, place: { readonly text: string; readonly at: number }];

function* candidatePrints(
  joined: readonly string[],
  single: readonly string[],
  reader: Normaliser,
  salt: string,
): Generator<CandidatePrint> {
  for (const text of joined) {
    const shingles = text.length <= MAX_EVERY_POSITION ? everyShingle(text) : winnowed(text);
    for (const { offset, shingle } of shingles) yield [hashOf(salt, 'shingle', shingle), { text, at: offset }];
  }
  for (const text of single) {
    for (const token of new Set([...tokensOf(text, reader), reader.normalised(text)])) {
      if (isDistinctive(token)) yield [hashOf(salt, 'token', token), { text: token, at: 0 }];
    }
  }
}

interface FieldValue {
  readonly field: string;
  readonly text: string;
  /** True for the name of a member. */
  readonly isName: boolean;
}

/** True for a name that is a value itself, as in a result that is keyed by it: an address, an id, words. */
function isDataName(name: string): boolean {
  return /@|\s|(?:\d.*){4}/.test(name);
}

/** The strings, numbers and names of members of a value with their paths, also those in strings of JSON. */
function valuesOf(value: unknown): { readonly values: readonly FieldValue[]; readonly isComplete: boolean } {
  const values: FieldValue[] = [];
  let chars = 0;
  let isComplete = true;
  const note = (name: string, field: string) => {
    chars += name.length;
    if (values.length >= MAX_VALUES || chars > MAX_CHARS) isComplete = false;
    else values.push({ field: field.slice(0, MAX_FIELD_CHARS), text: name, isName: true });
  };
  const visit = (one: unknown, field: string, depth: number) => {
    if (depth > MAX_DEPTH) isComplete = false;
    if (!isComplete) return;
    if (typeof one === 'string' || typeof one === 'number' || typeof one === 'bigint') {
      const text = String(one);
      chars += text.length;
      if (values.length >= MAX_VALUES || chars > MAX_CHARS) isComplete = false;
      else {
        const inner = typeof one === 'string' ? jsonIn(one) : undefined;
        if (inner === undefined) values.push({ field: field.slice(0, MAX_FIELD_CHARS), text, isName: false });
        else visit(inner, field, depth + 1);
      }
    } else if (typeof one === 'object' && one !== null) {
      const isList = Array.isArray(one);
      for (const [name, member] of Object.entries(one)) {
        // The path is stored, so it must not contain data.
        const step = isList || !isDataName(name) ? name : '*';
        const path = field === '' ? step : `${field}.${step}`;
        if (!isList) note(name, path);
        visit(member, path, depth + 1);
      }
    }
  };
  visit(value, '', 0);
  return { values, isComplete };
}

function jsonIn(text: string): object | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text) as object;
  } catch {
    return undefined;
  }
}

/** Normalises the texts of one call, up to a limit. Each text is normalised once. */
class Normaliser {
  isComplete = true;
  #left = MAX_UNITS;
  readonly #known = new Map<string, string>();

  /** Ignores case, spaces and punctuation. Cuts the text where the limit is reached. */
  normalised(text: string): string {
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    const value = this.#read(text);
    this.#known.set(text, value);
    return value;
  }

  #read(text: string): string {
    let value = '';
    for (let from = 0; from < text.length; ) {
      if (this.#left <= 0) {
        this.isComplete = false;
        return value;
      }
      const to = endOfPiece(text, from);
      value += this.#piece(text.slice(from, to));
      from = to;
    }
    return value;
  }

  #piece(text: string): string {
    if (ASCII.test(text)) {
      this.#left -= text.length;
      return text.toLowerCase().replace(/[^a-z0-9]+/g, '');
    }
    const expanded = text.normalize('NFKC');
    this.#left -= UNITS_PER_CHAR * Math.max(expanded.length, text.length);
    return expanded.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '');
  }
}

const ASCII = /^\p{ASCII}*$/u;

/** Pieces end before a character that is normalised alone, so that cutting changes nothing. */
function endOfPiece(text: string, from: number): number {
  let to = from + PIECE_CHARS;
  const latest = Math.min(text.length, from + 2 * PIECE_CHARS);
  while (to < latest && !/[\p{ASCII}]/u.test(text.charAt(to))) to += 1;
  return Math.min(to, text.length);
}

function isDistinctive(value: string): boolean {
  return value.length >= (/\p{N}/u.test(value) ? MIN_TOKEN_CHARS : MIN_WORD_CHARS);
}

/** Words with a digit or an `@`: ids, addresses, numbers. */
function tokensOf(text: string, reader: Normaliser): string[] {
  return text
    .split(/[\s,;"'<>(){}[\]|=&?/#]+/)
    .filter((word) => /[\p{N}@]/u.test(word))
    .map((word) => reader.normalised(word))
    .filter(isDistinctive);
}

/** Texts that a text is the URL or base64 encoding of, or contains as one. */
function decodings(text: string, budget: DecodingBudget): string[] {
  const unescaped = /%[0-9a-f]{2}/i.test(text) ? unescapedUrl(text) : undefined;
  const first = unescaped === undefined ? [] : [unescaped];
  return [...first, ...[text, ...first].flatMap((one) => base64In(one, budget))];
}

/** Decodes each run of escapes by itself, so that a stray `%` hides nothing. */
function unescapedUrl(text: string): string {
  return text.replaceAll('+', ' ').replace(/(?:%[0-9a-f]{2})+/gi, (escapes) => {
    const bytes = new Uint8Array(escapes.length / 3);
    for (let at = 0; at < bytes.length; at++) bytes[at] = Number.parseInt(escapes.slice(3 * at + 1, 3 * at + 3), 16);
    return LENIENT.decode(bytes);
  });
}

const LENIENT = new TextDecoder('utf-8');
const MIN_BASE64_CHARS = 8;
/** `_` and `-` are letters of base64url, or end what stands before it: `file_aGVsbG8`. Longer parts have no prefix. */
const MAX_PREFIXED_CHARS = 2_048;
const MAX_BASE64_STARTS = 8;
/** Characters of one call that are decoded, counting those that are tried several times. */
const MAX_DECODED_CHARS = 3 * MAX_CHARS;

class DecodingBudget {
  isSpent = false;
  #left = MAX_DECODED_CHARS;

  /** False if so many characters are too many. */
  take(chars: number): boolean {
    this.#left -= chars;
    if (this.#left < 0) this.isSpent = true;
    return this.#left >= 0;
  }
}

/** Texts that are encoded in base64 or base64url, also as a part of a path or after a prefix; padding is optional. */
function base64In(text: string, budget: DecodingBudget): string[] {
  const found: string[] = [];
  const tryPart = (part: string) => {
    if (part.length < MIN_BASE64_CHARS || !budget.take(part.length)) return;
    const decoded = textOfBase64(part);
    if (decoded !== undefined) found.push(decoded);
  };
  for (const chunk of text.split(/[^A-Za-z0-9+/_-]+/)) {
    tryPart(chunk);
    // Each part of a path may be a text of its own; so may all of it, because `/` is a letter of base64.
    const parts = chunk.includes('/') ? chunk.split('/') : [chunk];
    for (const part of parts) {
      if (part !== chunk) tryPart(part);
      for (const start of startsIn(part)) tryPart(part.slice(start));
    }
  }
  return found;
}

function startsIn(part: string): readonly number[] {
  const starts: number[] = [];
  if (part.length > MAX_PREFIXED_CHARS) return starts;
  for (let at = 0; at < part.length && starts.length < MAX_BASE64_STARTS; at++)
    if (part[at] === '_' || part[at] === '-') starts.push(at + 1);
  return starts;
}

/** Most bytes must be text: a few others do not hide it, and a word that is no base64 decodes to noise. */
function textOfBase64(chunk: string): string | undefined {
  let binary: string;
  try {
    binary = atob(chunk.replaceAll('-', '+').replaceAll('_', '/'));
  } catch {
    return undefined;
  }
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < bytes.length; at++) bytes[at] = binary.charCodeAt(at);
  const text = LENIENT.decode(bytes);
  const noise = text.length - text.replace(/[\ufffd\p{Cc}]+/gu, '').length;
  return noise * 4 <= text.length ? text : undefined;
}

interface Shingle {
  readonly offset: number;
  readonly shingle: string;
}

function shingleAt(text: string, offset: number): Shingle {
  return { offset, shingle: text.slice(offset, offset + SHINGLE) };
}

function* everyShingle(text: string): Generator<Shingle> {
  for (let offset = 0; offset + SHINGLE <= text.length; offset++) yield shingleAt(text, offset);
}

/** Winnowing: of each window of shingles, the one with the least hash, the last of several. */
function* winnowed(text: string): Generator<Shingle> {
  const count = text.length - SHINGLE + 1;
  const ranks: number[] = [];
  let last = -1;
  for (let from = 0; from < Math.max(1, count - WINDOW + 1) && from < count; from++) {
    const end = Math.min(from + WINDOW, count);
    for (let at = ranks.length; at < end; at++) ranks.push(rankOf(text.slice(at, at + SHINGLE)));
    let least = from;
    for (let at = from + 1; at < end; at++) if ((ranks[at] ?? 0) <= (ranks[least] ?? 0)) least = at;
    if (least !== last) yield shingleAt(text, least);
    last = least;
  }
}

/** FNV-1a. Selects shingles; only salted hashes are stored. */
function rankOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}

function hashOf(salt: string, kind: 'token' | 'shingle' | 'value', text: string): string {
  return sha256Hex(`${salt}\n${kind}\n${text}`).slice(0, PRINT_CHARS);
}
