import type { AgentEvent } from './events.ts';

/** What makes two events the same event: everything the client said, and nothing the platform worked out. */
export type HashedFields = Pick<
  AgentEvent,
  'id' | 'occurredAt' | 'runId' | 'agentId' | 'dialect' | 'sourceType' | 'severity' | 'payload' | 'metadata' | 'tags'
>;

const FORM_VERSION = 1;

/**
 * The text an event's hash is taken over: RFC 8785 canonical JSON of its public names, documented in
 * docs/wire-format.md. Prices are not in it: a newer price table must not turn a retry into another event.
 */
export function canonicalForm(event: HashedFields): string {
  return formBefore(event) + canonicalContents(event) + formAfter(event);
}

/** What stands before the contents. */
export function formBefore({ agentId, dialect, sourceType, id }: HashedFields): string {
  return (
    `{"agentId":${quoted(agentId)},"dialect":${quoted(dialect)},"eventType":${quoted(sourceType)},` +
    `"id":${quoted(id)},`
  );
}

/** What a client may put into an event at will: the members `metadata` and `payload`, the dear part of the form. */
export function canonicalContents({ payload, metadata }: Pick<HashedFields, 'payload' | 'metadata'>): string {
  return `"metadata":${canonicalJson(metadata)},"payload":${canonicalJson(payload)}`;
}

/** What stands behind the contents. */
export function formAfter({ runId, severity, tags, occurredAt }: HashedFields): string {
  const tagged = tags === undefined ? '' : `,"tags":${canonicalList(tags)}`;
  return (
    `,"sessionId":${quoted(runId)},"severity":${quoted(severity)}${tagged},` +
    `"timestamp":${quoted(occurredAt)},"v":${FORM_VERSION}}`
  );
}

/**
 * RFC 8785 (JCS): keys sorted by UTF-16 code units, no white space, numbers as ECMAScript writes them. Members that are
 * `undefined` are left out, as in JSON.stringify. The caller bounds the depth; text must be well formed.
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
  for (const { key, first, next } of membersOf(record)) {
    const member = record[key];
    if (member !== undefined) text += (text === '' ? first : next) + canonicalJson(member);
  }
  return text === '' ? '{}' : `${text}}`;
}

/** The name of a member with what stands before it, where it is the first that is there and where it is not. */
interface MemberName {
  readonly key: string;
  /** `{"key":` */
  readonly first: string;
  /** `,"key":` */
  readonly next: string;
}

/** Keys in the order they came in, and once they have all come, the names in canonical order. */
interface Shape {
  readonly after: Map<string, Shape>;
  names: readonly MemberName[] | undefined;
}

/**
 * Events are alike: objects with the same keys in the same order come again and again, so their names are sorted and
 * written once. Bounded, and only for few and short keys, because clients choose them.
 */
let shapes: Shape = { after: new Map(), names: undefined };
let kept = 0;
/** Shapes and names together. */
const MOST_KEPT = 16_384;
const MOST_KEYS = 32;
const SHORT = 64;

function membersOf(record: Record<string, unknown>): readonly MemberName[] {
  let shape = shapes;
  let keys = 0;
  for (const key in record) {
    const known = shape.after.get(key);
    keys += 1;
    if (known === undefined && (keys > MOST_KEYS || key.length > SHORT)) return namesOf(record);
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
  if (kept <= MOST_KEPT) return shape;
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

/** A text as JSON. Most needs no escape, and finding that out is several times cheaper than JSON.stringify of a short text. */
export function quoted(text: string): string {
  return isPlain(text) ? `"${text}"` : JSON.stringify(text);
}

const FIRST_PRINTABLE = 0x20;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** A loop beats starting the regular expression as long as the text is short. */
function isPlain(text: string): boolean {
  if (text.length > SHORT) return !ESCAPED.test(text);
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code < FIRST_PRINTABLE || code === QUOTE || code === BACKSLASH) return false;
  }
  return true;
}
