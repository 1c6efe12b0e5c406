import type { AgentEvent } from './events.ts';

/** Fields that identify an event: everything the client sent, and nothing the platform derived. */
export type HashedFields = Pick<
  AgentEvent,
  'id' | 'occurredAt' | 'runId' | 'agentId' | 'dialect' | 'sourceType' | 'severity' | 'payload' | 'metadata' | 'tags'
>;

const FORM_VERSION = 1;

/**
 * Text that an event's hash is computed from: RFC 8785 canonical JSON of its public names, documented in
 * docs/wire-format.md. Excludes prices, because a newer price table must not turn a retry into another event.
 */
export function canonicalForm(event: HashedFields): string {
  return formBefore(event) + canonicalContents(event) + formAfter(event);
}

/** Part before the contents. */
export function formBefore({ agentId, dialect, sourceType, id }: HashedFields): string {
  return (
    `{"agentId":${quoted(agentId)},"dialect":${quoted(dialect)},"eventType":${quoted(sourceType)},` +
    `"id":${quoted(id)},`
  );
}

/** Members with arbitrary client data, `metadata` and `payload`. The costly part of the form. */
export function canonicalContents({ payload, metadata }: Pick<HashedFields, 'payload' | 'metadata'>): string {
  return `"metadata":${canonicalJson(metadata)},"payload":${canonicalJson(payload)}`;
}

/** Part after the contents. */
export function formAfter({ runId, severity, tags, occurredAt }: HashedFields): string {
  const tagged = tags === undefined ? '' : `,"tags":${canonicalList(tags)}`;
  return (
    `,"sessionId":${quoted(runId)},"severity":${quoted(severity)}${tagged},` +
    `"timestamp":${quoted(occurredAt)},"v":${FORM_VERSION}}`
  );
}

/**
 * RFC 8785 (JCS): keys sorted by UTF-16 code units, no white space, numbers as in ECMAScript. `undefined` members are
 * left out, as in JSON.stringify. The caller bounds the depth; text must be well-formed.
 */
export function canonicalJson(value: unknown): string {
  if (typeof value === 'string') return quoted(value);
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : 'null';
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  return Array.isArray(value) ? canonicalList(value) : canonicalObject(value as Record<string, unknown>);
}

function canonicalList(items: readonly unknown[]): string {
  let text = '[';
  for (let index = 0; index < items.length; index++) {
    if (index > 0) text += ',';
    text += canonicalJson(items[index] ?? null);
  }
  return `${text}]`;
}

function canonicalObject(record: Record<string, unknown>): string {
  let text = '';
  const names = membersOf(record);
  for (let index = 0; index < names.length; index++) {
    const { key, first, next } = names[index] as MemberName;
    const member = record[key];
    if (member !== undefined) text += (text === '' ? first : next) + canonicalJson(member);
  }
  return text === '' ? '{}' : `${text}}`;
}

/** A member's name with the text before it, as the first member present and as a later one. */
interface MemberName {
  readonly key: string;
  /** `{"key":` */
  readonly first: string;
  /** `,"key":` */
  readonly next: string;
}

/** Trie of keys in insertion order. A node for a complete set of keys has the names in canonical order. */
interface Shape {
  readonly after: Map<string, Shape>;
  names: readonly MemberName[] | undefined;
}

/**
 * Cache of object shapes. Objects with the same keys in the same order are frequent, so their names are sorted and
 * quoted once. Bounded, and only for few and short keys, because clients choose them.
 */
let shapes: Shape = { after: new Map(), names: undefined };
let kept = 0;
/** Maximum of cached shapes plus names. */
const MAX_CACHED = 16_384;
const MAX_CACHED_KEYS = 32;
const SHORT_CHARS = 64;

function membersOf(record: Record<string, unknown>): readonly MemberName[] {
  let shape = shapes;
  let keys = 0;
  for (const key in record) {
    const known = shape.after.get(key);
    keys += 1;
    if (known === undefined && (keys > MAX_CACHED_KEYS || key.length > SHORT_CHARS)) return namesOf(record);
    shape = known ?? shapeAfter(shape, key);
  }
  if (shape.names !== undefined) return shape.names;
  shape.names = namesOf(record);
  kept += keys;
  return shape.names;
}

function shapeAfter(before: Shape, key: string): Shape {
  const shape: Shape = { after: new Map(), names: undefined };
  before.after.set(key, shape);
  kept += 1;
  if (kept <= MAX_CACHED) return shape;
  shapes = { after: new Map(), names: undefined };
  kept = 0;
  return shape;
}

function namesOf(record: Record<string, unknown>): readonly MemberName[] {
  return Object.keys(record)
    .sort()
    .map((key) => ({ key, first: `{${quoted(key)}:`, next: `,${quoted(key)}:` }));
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters JSON must escape
const ESCAPED = /["\\\u0000-\u001f]/;

/** Quotes a text as JSON. Most texts need no escape, and checking is several times cheaper than JSON.stringify. */
export function quoted(text: string): string {
  return isPlain(text) ? `"${text}"` : JSON.stringify(text);
}

const FIRST_PRINTABLE = 0x20;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** For short texts a loop is faster than a regular expression. */
function isPlain(text: string): boolean {
  if (text.length > SHORT_CHARS) return !ESCAPED.test(text);
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code < FIRST_PRINTABLE || code === QUOTE || code === BACKSLASH) return false;
  }
  return true;
}
