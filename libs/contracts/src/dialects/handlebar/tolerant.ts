import { z } from 'zod';
import { sha256Hex } from '#sha256';
import { TOOL_NAME_CHARS } from '../../decisions.ts';

/** Most characters of a name that becomes a column or a rule's subject. */
export const NAME_CHARS = 256;
const TEXT_CHARS = 1_000;

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are exactly what is removed
const CONTROL = /[\u0000-\u001f\u007f]/g;

/** A name as it can be stored: a question must be answered, so it is mended rather than refused. */
export function cleanName(text: string, most = NAME_CHARS): string {
  const clean = text.toWellFormed().replace(CONTROL, '');
  return clean.length <= most ? clean : clean.slice(0, most).toWellFormed();
}

/** Rules go by how a name begins and how it ends, so a long one keeps both. */
export function cleanToolName(text: string): string {
  const clean = cleanName(text, Number.POSITIVE_INFINITY);
  if (clean.length <= TOOL_NAME_CHARS) return clean;
  const half = TOOL_NAME_CHARS / 2 - 1;
  return `${clean.slice(0, half)}…${clean.slice(-half)}`.toWellFormed();
}

export const Name = z.string().transform((text) => cleanName(text));

/** Id of somebody or something, as it can be used: no two that differ are mended into one. */
export const MendedId = z.union([z.string(), z.number()]).transform((given, context) => {
  const text = String(given);
  const clean = cleanName(text, MOST_ID_CHARS);
  if (clean === text && text !== '') return text;
  if (text !== '') return `${clean.slice(0, MOST_ID_CHARS - HASH_CHARS)}#${sha256Hex(text)}`.toWellFormed();
  context.issues.push({ code: 'custom', message: 'must not be empty', input: given });
  return z.NEVER;
});
const MOST_ID_CHARS = 256;
/** Of a SHA-256 in hex and what stands before it. */
const HASH_CHARS = 65;

/** Most members of a list that is stored; more are no names any more but a load. */
const MOST_MEMBERS = 100;

/** Texts of a list; anything else in it is left out. */
export const Names = z.array(z.unknown()).transform((items) => namesIn(items.slice(0, MOST_MEMBERS)));
/** The same, however many: what a question is about is never cut. */
export const AllNames = z.array(z.unknown()).transform(namesIn);

function namesIn(items: readonly unknown[]): string[] {
  return items.filter((item) => typeof item === 'string').map((item) => cleanName(item));
}

/** Texts by name. Numbers and flags become text, as a client that is not typed sends them; the rest is left out. */
export const Texts = z.record(z.string(), z.unknown()).transform((members) =>
  byCleanName(members, (value) => {
    if (typeof value === 'string') return cleanName(value, TEXT_CHARS);
    return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined;
  }),
);

/** Finite numbers by name; the rest is left out. */
export const Numbers = z
  .record(z.string(), z.unknown())
  .transform((members) =>
    byCleanName(members, (value) => (typeof value === 'number' && Number.isFinite(value) ? value : undefined)),
  );

/** A name that had to be mended gives way to one that was good, so that it cannot hide it. */
function byCleanName<T>(members: Record<string, unknown>, read: (value: unknown) => T | undefined): Record<string, T> {
  const good = new Map<string, T>();
  const mended = new Map<string, T>();
  for (const [key, value] of Object.entries(members)) {
    const one = read(value);
    const name = cleanName(key);
    if (one !== undefined) (name === key ? good : mended).set(name, one);
  }
  return Object.fromEntries([...mended, ...good]);
}
