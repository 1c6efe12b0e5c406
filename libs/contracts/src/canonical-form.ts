import { hash } from 'node:crypto';
import type { AgentEvent } from './events.ts';

/** What makes two events the same event: everything the client said, and nothing the platform worked out. */
export type HashedFields = Pick<
  AgentEvent,
  'id' | 'occurredAt' | 'runId' | 'agentId' | 'dialect' | 'sourceType' | 'severity' | 'payload' | 'metadata' | 'tags'
>;

/** What a client may put into an event at will, as canonical JSON: the dear part of the form, and of the event's own text. */
export interface CanonicalContents {
  readonly payload: string;
  readonly metadata: string;
}

export function canonicalContents({ payload, metadata }: Pick<HashedFields, keyof CanonicalContents>) {
  return { payload: canonicalJson(payload), metadata: canonicalJson(metadata) } satisfies CanonicalContents;
}

const FORM_VERSION = 1;

/**
 * The text an event's hash is taken over: RFC 8785 canonical JSON of its public names, documented in
 * docs/wire-format.md. Prices are not in it: a newer price table must not turn a retry into another event.
 *
 * @param contents of this event, where they are known already
 */
export function canonicalForm(event: HashedFields, contents: CanonicalContents = canonicalContents(event)): string {
  const tags = event.tags === undefined ? '' : `,"tags":${canonicalList(event.tags)}`;
  return (
    `{"agentId":${quoted(event.agentId)},"dialect":${quoted(event.dialect)},"eventType":${quoted(event.sourceType)},` +
    `"id":${quoted(event.id)},"metadata":${contents.metadata},"payload":${contents.payload},` +
    `"sessionId":${quoted(event.runId)},"severity":${quoted(event.severity)}${tags},` +
    `"timestamp":${quoted(event.occurredAt)},"v":${FORM_VERSION}}`
  );
}

/** SHA-256 (hex) of bytes, or of a text in UTF-8. */
export function sha256Hex(content: string | Uint8Array): string {
  return hash('sha256', content, 'hex');
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
  let text = '{';
  for (const key of sorted(Object.keys(record))) {
    const member = record[key];
    if (member === undefined) continue;
    if (text.length > 1) text += ',';
    text += label(key) + canonicalJson(member);
  }
  return `${text}}`;
}

/** Most objects have few keys, and for those the set-up of the built-in sort costs more than the sorting. */
const FEW_KEYS = 24;

function sorted(keys: string[]): string[] {
  if (keys.length > FEW_KEYS) return keys.sort();
  for (let next = 1; next < keys.length; next++) {
    const key = keys[next] ?? '';
    let place = next;
    for (let before = keys[place - 1]; before !== undefined && before > key; before = keys[place - 1]) {
      keys[place] = before;
      place -= 1;
    }
    keys[place] = key;
  }
  return keys;
}

/** The same keys come with every event. Bounded, and only short ones, because clients choose them. */
const labels = new Map<string, string>();
const MOST_LABELS = 4_096;
const SHORT = 64;

/** `"key":` */
function label(key: string): string {
  const known = labels.get(key);
  if (known !== undefined) return known;
  const text = `${quoted(key)}:`;
  if (key.length > SHORT) return text;
  if (labels.size >= MOST_LABELS) labels.clear();
  labels.set(key, text);
  return text;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters JSON must escape
const ESCAPED = /["\\\u0000-\u001f]/;

/** Most text needs no escape, and finding that out is several times cheaper than JSON.stringify of a short text. */
function quoted(text: string): string {
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
