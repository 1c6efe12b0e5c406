import type { JsonMember } from './scan-object.ts';

/** The byte range of a value. */
export type JsonRange = Pick<JsonMember, 'start' | 'end'>;

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
/** Space, tab, line feed, return, comma and colon: what separates values. */
const SEPARATORS = new Set([0x20, 0x09, 0x0a, 0x0d, COMMA, 0x3a]);

/** The entries of a list, each when it is asked for. What follows the last one asked for is not read. */
export function* walkList(bytes: Buffer, { start, end: listEnd }: JsonRange): Generator<JsonRange> {
  for (let at = skipSeparators(bytes, start + 1); at < listEnd - 1; ) {
    const end = skipValue(bytes, at);
    yield { start: at, end };
    at = skipSeparators(bytes, end);
  }
}

/** The value of a member of an object. */
export function findMember(bytes: Buffer, { start, end }: JsonRange, name: string): JsonRange | undefined {
  for (let at = skipSeparators(bytes, start + 1); at < end - 1; ) {
    const nameEnd = skipValue(bytes, at);
    const valueStart = skipSeparators(bytes, nameEnd);
    const valueEnd = skipValue(bytes, valueStart);
    if (JSON.parse(bytes.toString('utf8', at, nameEnd)) === name) return { start: valueStart, end: valueEnd };
    at = skipSeparators(bytes, valueEnd);
  }
  return undefined;
}

export function isList(bytes: Buffer, { start }: JsonRange): boolean {
  return bytes[start] === OPEN_LIST;
}

export function isObject(bytes: Buffer, { start }: JsonRange): boolean {
  return bytes[start] === OPEN_OBJECT;
}

function skipSeparators(bytes: Buffer, from: number): number {
  let at = from;
  while (SEPARATORS.has(bytes[at] ?? 0)) at += 1;
  return at;
}

/** The end of a value that was scanned, so that it is valid. */
function skipValue(bytes: Buffer, from: number): number {
  let depth = 0;
  let at = from;
  do {
    const byte = bytes[at];
    if (byte === undefined) return at;
    if (byte === QUOTE) at = skipString(bytes, at);
    else {
      if (byte === OPEN_LIST || byte === OPEN_OBJECT) depth += 1;
      else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth -= 1;
      at += 1;
    }
  } while (depth > 0);
  const first = bytes[from];
  return first === QUOTE || first === OPEN_LIST || first === OPEN_OBJECT ? at : skipWord(bytes, at);
}

function skipWord(bytes: Buffer, from: number): number {
  let at = from;
  for (; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    if (SEPARATORS.has(byte) || byte === CLOSE_LIST || byte === CLOSE_OBJECT) break;
  }
  return at;
}

/** The search for a quote is native code: texts and images are the bulk of a body. */
function skipString(bytes: Buffer, start: number): number {
  for (let at = start; ; ) {
    at = bytes.indexOf(QUOTE, at + 1);
    if (at === -1) return bytes.length;
    let backslashes = 0;
    while (bytes[at - 1 - backslashes] === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return at + 1;
  }
}
