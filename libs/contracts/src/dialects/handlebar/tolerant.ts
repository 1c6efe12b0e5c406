import { z } from 'zod';
import { sha256Hex } from '#sha256';
import { TOOL_NAME_CHARS } from '../../decisions.ts';

/** Maximum length of a name that becomes a column or is compared by rules, in characters. */
export const NAME_CHARS = 256;
export const TEXT_CHARS = 1_000;

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are exactly what is removed
const CONTROL = /[\u0000-\u001f\u007f]/g;

/** Makes a name storable. Repairs rather than rejects, because a decision request must be answered. */
export function cleanName(text: string, most = NAME_CHARS): string {
  const clean = text.toWellFormed().replace(CONTROL, '');
  return clean.length <= most ? clean : clean.slice(0, most).toWellFormed();
}

/** Shortens a tool name, keeping its beginning and end, because rules match prefixes and suffixes. */
export function cleanToolName(text: string): string {
  const clean = cleanName(text, Number.POSITIVE_INFINITY);
  if (clean.length <= TOOL_NAME_CHARS) return clean;
  const half = TOOL_NAME_CHARS / 2 - 1;
  return `${clean.slice(0, half)}…${clean.slice(-half)}`.toWellFormed();
}

export const Name = z.string().transform((text) => cleanName(text));

/**
 * Makes a non-empty id storable. Different ids stay different: a repaired id ends with a hash. Every route repairs ids
 * in the same way, so that a question and the event about its result name the same call.
 */
export function repairId(text: string): string {
  const clean = cleanName(text, MAX_ID_CHARS);
  return clean === text ? text : `${clean.slice(0, MAX_ID_CHARS - HASH_CHARS)}#${sha256Hex(text)}`.toWellFormed();
}

export const RepairedId = z.union([z.string(), z.number()]).transform((given, context) => {
  const text = String(given);
  if (text !== '') return repairId(text);
  context.issues.push({ code: 'custom', message: 'must not be empty', input: given });
  return z.NEVER;
});
const MAX_ID_CHARS = 256;
/** A SHA-256 in hex and the separator before it. */
const HASH_CHARS = 65;

/** Maximum members of a stored list. */
const MAX_MEMBERS = 100;

/** Strings of a list; other items are left out. */
export const Names = z.array(z.unknown()).transform((items) => namesIn(items.slice(0, MAX_MEMBERS)));
/** Like `Names`, but never truncated, because a decision needs all of them. */
export const AllNames = z.array(z.unknown()).transform(namesIn);

function namesIn(items: readonly unknown[]): string[] {
  return items.filter((item) => typeof item === 'string').map((item) => cleanName(item));
}

/**
 * Strings by name. Numbers and booleans become strings, because untyped clients send them; anything else is left out.
 */
export const Texts = z.record(z.string(), z.unknown()).transform((members) =>
  byCleanName(members, (value) => {
    if (typeof value === 'string') return cleanName(value, TEXT_CHARS);
    return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined;
  }),
);

/** Finite numbers by name; anything else is left out. */
export const Numbers = z
  .record(z.string(), z.unknown())
  .transform((members) =>
    byCleanName(members, (value) => (typeof value === 'number' && Number.isFinite(value) ? value : undefined)),
  );

/** An unchanged name takes precedence over an equal repaired one. */
function byCleanName<T>(members: Record<string, unknown>, read: (value: unknown) => T | undefined): Record<string, T> {
  const good = new Map<string, T>();
  const repaired = new Map<string, T>();
  for (const [key, value] of Object.entries(members)) {
    const one = read(value);
    const name = cleanName(key);
    if (one !== undefined) (name === key ? good : repaired).set(name, one);
  }
  return Object.fromEntries([...repaired, ...good]);
}
