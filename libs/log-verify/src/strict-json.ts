import { UnreadableInput } from './note.ts';

const MAX_DEPTH = 64;

/** Any JSON value. */
export type StrictJson =
  | null
  | boolean
  | number
  | string
  | readonly StrictJson[]
  | { readonly [name: string]: StrictJson };

export type Members = { readonly [name: string]: StrictJson };

/** @throws UnreadableInput unless the value is an object */
export function members(value: StrictJson | undefined, what: string): Members {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new UnreadableInput(`${what} must be an object`);
  return value as Members;
}

/**
 * Parses JSON. Refuses what readers understand differently: duplicate members, numbers outside of a double, deep
 * nesting, lone surrogates. @throws UnreadableInput with the line
 */
export function parseStrictly(text: string): StrictJson {
  const parser = new Parser(text);
  return parser.parseDocument();
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /true|false|null/y;
const SPACE = /[ \t\r\n]*/y;

class Parser {
  #at = 0;

  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  parseDocument(): StrictJson {
    this.#match(SPACE);
    const value = this.#value(0);
    this.#match(SPACE);
    if (this.#at < this.#text.length) throw this.#error('text after the end of the document');
    return value;
  }

  #value(depth: number): StrictJson {
    if (depth > MAX_DEPTH) throw this.#error(`more than ${MAX_DEPTH} levels`);
    const start = this.#text[this.#at];
    if (start === '{') return this.#object(depth);
    if (start === '[') return this.#array(depth);
    if (start === '"') return this.#string();
    const word = this.#match(WORD);
    if (word !== undefined) return word === 'null' ? null : word === 'true';
    const number = Number(this.#match(NUMBER) ?? Number.NaN);
    if (!Number.isFinite(number)) throw this.#error('a value that is not JSON, or a number out of range');
    return number;
  }

  #object(depth: number): StrictJson {
    const members = new Map<string, StrictJson>();
    this.#at += 1;
    for (let first = true; !this.#ends('}', first); first = false) {
      if (this.#text[this.#at] !== '"') throw this.#error('a member without a name');
      const name = this.#string();
      if (members.has(name)) throw this.#error(`the member ${JSON.stringify(name)} twice`);
      this.#match(SPACE);
      if (this.#text[this.#at] !== ':') throw this.#error('a member without a value');
      this.#at += 1;
      this.#match(SPACE);
      members.set(name, this.#value(depth + 1));
    }
    return Object.fromEntries(members);
  }

  #array(depth: number): StrictJson {
    const items: StrictJson[] = [];
    this.#at += 1;
    for (let first = true; !this.#ends(']', first); first = false) items.push(this.#value(depth + 1));
    return items;
  }

  /** Steps over a comma or the end of a list. @returns true at the end */
  #ends(end: string, first: boolean): boolean {
    this.#match(SPACE);
    const next = this.#text[this.#at];
    if (next === end) {
      this.#at += 1;
      return true;
    }
    if (first) return false;
    if (next !== ',') throw this.#error(`no comma and no ${end}`);
    this.#at += 1;
    this.#match(SPACE);
    return false;
  }

  #string(): string {
    const end = this.#findEnd();
    const value = readString(this.#text.slice(this.#at, end));
    if (value === undefined) throw this.#error('a text that does not end or has a control character');
    this.#at = end;
    if (!value.isWellFormed()) throw this.#error('half of a character');
    return value;
  }

  /** The place after the text that begins here. A pattern would fail at texts of many megabytes. */
  #findEnd(): number {
    for (let at = this.#at + 1; at < this.#text.length; at += 1) {
      const character = this.#text[at];
      if (character === '"') return at + 1;
      if (character === '\\') at += 1;
    }
    return this.#text.length;
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    this.#at += found?.length ?? 0;
    return found;
  }

  #error(what: string): UnreadableInput {
    return new UnreadableInput(`line ${this.#text.slice(0, this.#at).split('\n').length}: ${what}`);
  }
}

/** Undefined for a text that is not valid JSON. */
function readString(source: string): string | undefined {
  try {
    return JSON.parse(source) as string;
  } catch {
    // A control character, an escape that JSON lacks, or no end.
    return undefined;
  }
}

/** Canonical JSON (RFC 8785) of a parsed value. */
export function canonical(value: StrictJson): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  const members = Object.entries(value as { readonly [name: string]: StrictJson });
  members.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join(',')}}`;
}
