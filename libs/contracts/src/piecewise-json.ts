/**
 * Parses JSON in bounded steps. `JSON.parse` cannot be interrupted and takes up to a microsecond per key, so a body of
 * a few megabytes blocks the event loop for seconds. This parser measures the text first and parses a large one in
 * pieces; the caller decides between steps whether to continue immediately.
 */

/** Units of one piece: up to about 5 ms of `JSON.parse`. */
const PIECE_UNITS = 5_000;
/**
 * Maximum depth at which pieces are split. Deeper values are parsed at once, or read as null if they are too large for
 * that: no route accepts a value nested so deeply.
 */
const MAX_PIECE_DEPTH = 250;
const MAX_UNITS_AT_ONCE = 50_000;
/** Characters measured in one step. */
const STEP_CHARS = 200_000;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** The body exceeds the work allowed for one request. */
export class TooMuchJson extends Error {
  override readonly name = 'TooMuchJson';

  constructor(readonly maxUnits: number) {
    super(`the JSON holds more than ${maxUnits} keys, values and lists`);
  }
}

/** Text that is truncated or not JSON. `position` is where, if known. */
export class BrokenJson extends SyntaxError {
  override readonly name = 'BrokenJson';

  constructor(readonly position: number | undefined) {
    super(position === undefined ? 'the JSON is incomplete' : `unexpected character in JSON at position ${position}`);
  }
}

interface Subtree {
  /** Position after its closing bracket. */
  readonly end: number;
  readonly units: number;
}

/** Large lists and objects by the position of their opening bracket. */
type Subtrees = ReadonlyMap<number, Subtree>;

export interface JsonBudget {
  /** Maximum units of work: one for each colon, comma and opening bracket outside of strings. */
  readonly maxUnits: number;
  /** Members of the outermost object that are replaced by null if one alone exceeds `maxUnits`. */
  readonly mayLeaveOut?: readonly string[];
}

export interface ParsedJson {
  readonly value: unknown;
  readonly units: number;
  /** Names of the members that were left out. */
  readonly leftOut: readonly string[];
}

/**
 * Parses JSON like `JSON.parse`, in steps of a few milliseconds.
 * @throws BrokenJson if the text is not JSON
 * @throws TooMuchJson if it exceeds the budget
 */
export function* parseInSteps(text: string, budget: JsonBudget): Generator<void, ParsedJson> {
  // A text this short cannot contain more units than one piece.
  if (text.length <= PIECE_UNITS) return { value: parsePiece(text, 0, '', ''), units: 0, leftOut: [] };
  const { units, total, subtrees } = yield* measure(text, budget);
  if (total <= PIECE_UNITS) return { value: parsePiece(text, 0, '', ''), units, leftOut: [] };
  const from = skipSpace(text, 0);
  const root = subtrees.get(from);
  if (root === undefined) throw new BrokenJson(undefined);
  const rest = skipSpace(text, root.end);
  if (rest < text.length) throw new BrokenJson(rest);
  const leftOut: string[] = [];
  const value = yield* new PieceParser(text, subtrees).parse(from, root.end, (name, subtree) => {
    if (subtree.units <= budget.maxUnits || budget.mayLeaveOut?.includes(name) !== true) return false;
    leftOut.push(name);
    return true;
  });
  return { value, units, leftOut };
}

/**
 * Returns whether JSON text contains at most this number of units. For text that is not JSON the result is arbitrary.
 */
export function hasAtMostUnits(text: string, maxUnits: number): boolean {
  if (text.length <= maxUnits) return true;
  const counter = new UnitCounter(text, maxUnits);
  counter.advance(text.length);
  return counter.units <= maxUnits;
}

function* measure(text: string, { maxUnits, mayLeaveOut = [] }: JsonBudget) {
  const counter = new UnitCounter(text, PIECE_UNITS);
  while (!counter.isAtEnd) {
    counter.advance(STEP_CHARS);
    if (counter.units > maxUnits && mayLeaveOut.length === 0) throw new TooMuchJson(maxUnits);
    yield;
  }
  const spared = mayLeaveOut.length === 0 ? 0 : counter.unitsOfHeavyMembers(mayLeaveOut, maxUnits);
  if (counter.units - spared > maxUnits) throw new TooMuchJson(maxUnits);
  return { units: counter.units - spared, total: counter.units, subtrees: counter.subtrees };
}

/** Counts units and remembers the lists and objects that exceed one piece. */
class UnitCounter {
  units = 0;
  readonly subtrees = new Map<number, Subtree>();
  readonly #text: string;
  readonly #remembered: number;
  /** For each open bracket: its position and the units before it. */
  readonly #open: number[] = [];
  #at = 0;

  constructor(text: string, remembered: number) {
    this.#text = text;
    this.#remembered = remembered;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#text.length;
  }

  /** Always completes a string that it has begun. */
  advance(chars: number): void {
    const text = this.#text;
    const stop = Math.min(text.length, this.#at + chars);
    let at = this.#at;
    let units = this.units;
    for (; at < stop; at++) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) at = endOfText(text, at);
      else if (code === COMMA || code === COLON) units += 1;
      else if (code === OPEN_LIST || code === OPEN_OBJECT) {
        this.#open.push(at, units);
        units += 1;
      } else if (code === CLOSE_LIST || code === CLOSE_OBJECT) {
        const before = this.#open.pop() ?? units;
        const from = this.#open.pop() ?? at;
        const isLarge = units - before > this.#remembered;
        if (isLarge && this.#open.length <= 2 * MAX_PIECE_DEPTH)
          this.subtrees.set(from, { end: at + 1, units: units - before });
      }
    }
    this.#at = at;
    this.units = units;
  }

  unitsOfHeavyMembers(names: readonly string[], maxUnits: number): number {
    let units = 0;
    for (const [from, subtree] of this.subtrees) {
      if (subtree.units > maxUnits && names.includes(nameBefore(this.#text, from) ?? '') && this.#isTopMember(from)) {
        units += subtree.units;
      }
    }
    return units;
  }

  /** Returns true if only the outermost object contains the value. */
  #isTopMember(from: number): boolean {
    const root = skipSpace(this.#text, 0);
    for (const [other, { end }] of this.subtrees) if (other !== root && other < from && from < end) return false;
    return true;
  }
}

/** Returns the name of the member whose value begins here, if it is written without escapes. */
function nameBefore(text: string, valueAt: number): string | undefined {
  return /"([^"\\]*)"\s*:\s*$/.exec(text.slice(Math.max(0, valueAt - 64), valueAt))?.[1];
}

type LeavesOut = (name: string, subtree: Subtree) => boolean;
const LEAVES_NOTHING_OUT: LeavesOut = () => false;

/** Parses large lists and objects member by member, and small members in groups. */
class PieceParser {
  readonly #text: string;
  readonly #subtrees: Subtrees;
  #depth = 0;

  constructor(text: string, subtrees: Subtrees) {
    this.#text = text;
    this.#subtrees = subtrees;
  }

  *parse(from: number, end: number, leavesOut = LEAVES_NOTHING_OUT): Generator<void, unknown> {
    if (this.#depth >= MAX_PIECE_DEPTH) return this.#atOnce(from, end);
    this.#depth += 1;
    const value =
      this.#text.charCodeAt(from) === OPEN_LIST
        ? yield* this.#list(from, end)
        : yield* this.#object(from, end, leavesOut);
    this.#depth -= 1;
    return value;
  }

  #atOnce(from: number, end: number): unknown {
    if ((this.#subtrees.get(from)?.units ?? 0) > MAX_UNITS_AT_ONCE) return null;
    return parsePiece(this.#text.slice(from, end), from, '', '');
  }

  *#list(from: number, end: number): Generator<void, unknown[]> {
    const items: unknown[] = [];
    for (const { start, stop, subtree } of this.#groups(from, end)) {
      if (subtree === undefined) {
        for (const item of parsePiece(this.#text.slice(start, stop), start, '[', ']') as unknown[]) items.push(item);
      } else {
        requireEmpty(this.#text, start, subtree.at);
        items.push(yield* this.parse(subtree.at, subtree.end));
      }
      yield;
    }
    return items;
  }

  *#object(from: number, end: number, leavesOut: LeavesOut): Generator<void, Record<string, unknown>> {
    const members: Record<string, unknown> = {};
    for (const { start, stop, subtree } of this.#groups(from, end)) {
      if (subtree === undefined) {
        const part = parsePiece(this.#text.slice(start, stop), start, '{', '}') as Record<string, unknown>;
        for (const name of Object.keys(part)) setMember(members, name, part[name]);
      } else {
        const named = parsePiece(`${this.#text.slice(start, subtree.at)}0`, start, '{', '}') as object;
        const [name, ...more] = Object.keys(named);
        if (name === undefined || more.length > 0) throw new BrokenJson(start);
        setMember(members, name, leavesOut(name, subtree) ? null : yield* this.parse(subtree.at, subtree.end));
      }
      yield;
    }
    return members;
  }

  /**
   * Iterates over the members between two brackets: small ones in groups, each one with a large list or object alone.
   */
  *#groups(from: number, end: number): Generator<Group> {
    const text = this.#text;
    const last = end - 1;
    const opening = text.charCodeAt(from);
    if (text.charCodeAt(last) !== opening + 2) throw new BrokenJson(last);
    let start = from + 1;
    let units = 0;
    let isFirst = true;
    let at = start;
    while (at <= last) {
      const member = this.#member(at, last);
      const { stop, subtree } = member;
      const isLast = stop === last;
      if (skipSpace(text, at) === stop) {
        // Only an empty list or object may have an empty member.
        if (isFirst && isLast && at === start) return;
        throw new BrokenJson(stop);
      }
      if (subtree !== undefined) {
        if (at > start) yield { start, stop: at - 1, subtree: undefined };
        yield { start: at, stop, subtree };
        requireEmpty(text, subtree.end, stop);
        start = stop + 1;
        units = 0;
      } else {
        units += member.units + 1;
        if (isLast || units >= PIECE_UNITS) {
          yield { start, stop, subtree: undefined };
          start = stop + 1;
          units = 0;
        }
      }
      isFirst = false;
      at = stop + 1;
    }
  }

  /** Reads one member: up to the next comma, or to `last`. */
  #member(from: number, last: number): { stop: number; units: number; subtree: Group['subtree'] } {
    const text = this.#text;
    let depth = 0;
    let units = 0;
    let subtree: Group['subtree'];
    let at = from;
    for (; at < last; at++) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) at = endOfText(text, at);
      else if (code === COMMA) {
        if (depth === 0) break;
        units += 1;
      } else if (code === OPEN_LIST || code === OPEN_OBJECT) {
        const large = this.#subtrees.get(at);
        if (large !== undefined) {
          if (subtree !== undefined) throw new BrokenJson(at);
          subtree = { at, ...large };
          at = large.end - 1;
        } else {
          depth += 1;
          units += 1;
        }
      } else if (code === CLOSE_LIST || code === CLOSE_OBJECT) depth -= 1;
      else if (code === COLON) units += 1;
    }
    return { stop: Math.min(at, last), units, subtree };
  }
}

interface Group {
  readonly start: number;
  /** Position of the comma or bracket after it. */
  readonly stop: number;
  readonly subtree: (Subtree & { readonly at: number }) | undefined;
}

/** Like `JSON.parse`, which makes `__proto__` an ordinary member. */
function setMember(members: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== '__proto__') members[name] = value;
  else Object.defineProperty(members, name, { value, enumerable: true, configurable: true, writable: true });
}

function parsePiece(text: string, offset: number, before: string, after: string): unknown {
  try {
    return JSON.parse(`${before}${text}${after}`);
  } catch (error) {
    const position = /position (\d+)/.exec((error as Error).message)?.[1];
    if (position === undefined && before === '') throw new BrokenJson(undefined);
    throw new BrokenJson(position === undefined ? offset : offset + Math.max(0, Number(position) - before.length));
  }
}

/** Returns the position of the closing quote of a JSON string, or the end of the text. */
export function endOfText(text: string, opening: number): number {
  for (let at = opening + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === BACKSLASH) at += 1;
    else if (code === QUOTE) return at;
  }
  return text.length;
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (isSpace(text.charCodeAt(at))) at += 1;
  return at;
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

function requireEmpty(text: string, from: number, to: number): void {
  const at = skipSpace(text, from);
  if (at < to) throw new BrokenJson(at);
}
