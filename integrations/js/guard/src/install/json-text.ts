/*
 * Edits of JSON files by position. Comments, spaces, line ends and odd formats of the user stay as they are; a file is
 * never printed again.
 */

export type JsonNode =
  | { readonly kind: 'object'; readonly start: number; readonly end: number; readonly members: readonly JsonMember[] }
  | { readonly kind: 'array'; readonly start: number; readonly end: number; readonly items: readonly JsonNode[] }
  | { readonly kind: 'value'; readonly start: number; readonly end: number; readonly value: unknown };

interface JsonMember {
  readonly name: string;
  readonly start: number;
  readonly value: JsonNode;
}

/** The text is no JSON with comments. */
export class JsonTextError extends Error {
  override readonly name = 'JsonTextError';

  constructor(message: string, text: string, at: number) {
    super(`line ${text.slice(0, at).split('\n').length}: ${message}`);
  }
}

/** @throws JsonTextError */
export function parseJsonText(text: string): JsonNode {
  const parser = new Parser(text);
  const node = parser.value();
  parser.space();
  if (parser.at < text.length) throw parser.error('unexpected text after the value');
  return node;
}

class Parser {
  readonly #text: string;
  at: number;

  constructor(text: string) {
    this.#text = text;
    this.at = text.startsWith('\uFEFF') ? 1 : 0;
  }

  error(message: string): JsonTextError {
    return new JsonTextError(message, this.#text, this.at);
  }

  space(): void {
    const pattern = /(?:\s+|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/y;
    pattern.lastIndex = this.at;
    this.at += pattern.exec(this.#text)?.[0].length ?? 0;
  }

  value(): JsonNode {
    this.space();
    const char = this.#text.charAt(this.at);
    if (char === '{') return this.#object();
    if (char === '[') return this.#array();
    const pattern = /"(?:[^"\\\n]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.#text)?.[0];
    if (found === undefined) throw this.error(`unexpected ${JSON.stringify(char)}`);
    const start = this.at;
    this.at += found.length;
    return { kind: 'value', start, end: this.at, value: this.#parsed(found) };
  }

  #parsed(literal: string): unknown {
    try {
      return JSON.parse(literal);
    } catch {
      throw this.error('invalid text');
    }
  }

  #object(): JsonNode {
    const start = this.at++;
    const members: JsonMember[] = [];
    for (;;) {
      this.space();
      if (this.#take('}')) return { kind: 'object', start, end: this.at, members };
      const key = this.value();
      if (key.kind !== 'value' || typeof key.value !== 'string') throw this.error('a name must be a text');
      this.space();
      if (!this.#take(':')) throw this.error('":" is missing');
      members.push({ name: key.value, start: key.start, value: this.value() });
      this.#separator('}');
    }
  }

  #array(): JsonNode {
    const start = this.at++;
    const items: JsonNode[] = [];
    for (;;) {
      this.space();
      if (this.#take(']')) return { kind: 'array', start, end: this.at, items };
      items.push(this.value());
      this.#separator(']');
    }
  }

  #separator(close: string): void {
    this.space();
    if (!this.#take(',') && this.#text.charAt(this.at) !== close) throw this.error('"," is missing');
  }

  #take(char: string): boolean {
    if (this.#text.charAt(this.at) !== char) return false;
    this.at++;
    return true;
  }
}

/** Inserts a value at the end of an array, creating the objects and the array on the way. @throws JsonTextError */
export function appendToArray(text: string, path: readonly string[], value: unknown): string {
  if (text.trim() === '' || text.trim() === '\uFEFF')
    return `${text.trim()}${JSON.stringify(nested(path, [value]), null, 2)}\n`;
  let node = parseJsonText(text);
  for (const [level, name] of path.entries()) {
    if (node.kind !== 'object')
      throw new JsonTextError(`${path.slice(0, level).join('.') || 'the file'} must be an object`, text, node.start);
    const member = findMember(node, name);
    if (member === undefined)
      return insert(text, node, `${JSON.stringify(name)}: `, nested(path.slice(level + 1), [value]));
    node = member.value;
  }
  if (node.kind !== 'array') throw new JsonTextError(`${path.join('.')} must be a list`, text, node.start);
  return insert(text, node, '', value);
}

/** Of members with the same name the last one counts. */
function findMember(node: Extract<JsonNode, { kind: 'object' }>, name: string): JsonMember | undefined {
  return node.members.findLast((member) => member.name === name);
}

function nested(path: readonly string[], value: unknown): unknown {
  return path.reduceRight((inner, name) => ({ [name]: inner }), value);
}

function insert(text: string, node: Exclude<JsonNode, { kind: 'value' }>, key: string, value: unknown): string {
  const lineEnd = text.includes('\r\n') ? '\r\n' : '\n';
  const children =
    node.kind === 'object' ? node.members.map(({ start, value: { end } }) => ({ start, end })) : node.items;
  const last = children.at(-1);
  const indent = indentAt(text, node.start);
  const first = children[0];
  const isOnLines = first === undefined || text.slice(node.start, first.start).includes('\n');
  const step = first === undefined || !isOnLines ? `${indent}  ` : indentAt(text, first.start);
  const printed = JSON.stringify(value, null, isOnLines ? 2 : undefined).replaceAll('\n', lineEnd + step);
  if (last === undefined) {
    // Comments inside an empty object stay in front.
    const inside = text.slice(node.start + 1, node.end - 1).trimEnd();
    return `${text.slice(0, node.start + 1)}${inside}${lineEnd}${step}${key}${printed}${lineEnd}${indent}${text.slice(node.end - 1)}`;
  }
  const separator = isOnLines ? lineEnd + step : ' ';
  const hasComma = /^(?:\s|\/\/[^\n]*\n|\/\*[\s\S]*?\*\/)*,/.exec(text.slice(last.end, node.end));
  const at = last.end + (hasComma?.[0].length ?? 0);
  return `${text.slice(0, at)}${hasComma === null ? ',' : ''}${separator}${key}${printed}${text.slice(at)}`;
}

/** The spaces before the first character of the line that `at` is in. */
function indentAt(text: string, at: number): string {
  const start = text.lastIndexOf('\n', at - 1) + 1;
  return /^[ \t]*/.exec(text.slice(start))?.[0] ?? '';
}

/**
 * Removes the hooks whose text is ours, then the groups, lists and members that are empty without them. The rest of the
 * text stays. @throws JsonTextError
 */
export function removeItems(text: string, isOurs: (itemText: string) => boolean): string {
  for (let current = text; ; ) {
    const root = parseJsonText(current);
    const cut = findCut(current, root, false, isOurs);
    if (cut === undefined) return current;
    if (cut === 'whole') return '';
    current = current.slice(0, cut[0]) + current.slice(cut[1]);
  }
}

type Cut = readonly [number, number] | 'whole';

/** @param isItem whether the node is an item of a list: a group of hooks goes when its list of hooks goes */
function findCut(text: string, node: JsonNode, isItem: boolean, isOurs: (part: string) => boolean): Cut | undefined {
  if (node.kind === 'value' || !isOurs(text.slice(node.start, node.end))) return undefined;
  const children: readonly { start: number; value: JsonNode }[] =
    node.kind === 'object' ? node.members : node.items.map((value) => ({ start: value.start, value }));
  let hasLists = false;
  for (const [index, { start, value }] of children.entries()) {
    if (value.kind === 'value') continue;
    hasLists = true;
    const cut = findCut(text, value, node.kind === 'array', isOurs);
    if (cut === undefined) continue;
    if (cut !== 'whole') return cut;
    if (isItem || children.length === 1) return 'whole';
    const before = children[index - 1];
    if (before !== undefined) return [before.value.end, value.end];
    return [start, children[index + 1]?.start ?? value.end];
  }
  return isItem && !hasLists ? 'whole' : undefined;
}
