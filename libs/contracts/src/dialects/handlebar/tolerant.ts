import { z } from 'zod';
import { sha256Hex } from '../../canonical-form.ts';

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

/** Most members of an open list or record; more is no name any more but a load. */
const MOST_MEMBERS = 100;

/** Texts of a list; anything else in it is left out. */
export const Names = z.array(z.unknown()).transform((items) =>
  items
    .slice(0, MOST_MEMBERS)
    .filter((item) => typeof item === 'string')
    .map((item) => cleanName(item)),
);

/** Texts by name. Numbers and flags become text, as a client that is not typed sends them; the rest is left out. */
export const Texts = z.record(z.string(), z.unknown()).transform((members) => {
  const texts: Record<string, string> = {};
  for (const [key, value] of Object.entries(members).slice(0, MOST_MEMBERS)) {
    if (typeof value === 'string') texts[cleanName(key)] = cleanName(value, TEXT_CHARS);
    else if (typeof value === 'number' || typeof value === 'boolean') texts[cleanName(key)] = String(value);
  }
  return texts;
});

/** Finite numbers by name; the rest is left out. */
export const Numbers = z.record(z.string(), z.unknown()).transform((members) => {
  const numbers: Record<string, number> = {};
  for (const [key, value] of Object.entries(members).slice(0, MOST_MEMBERS)) {
    if (typeof value === 'number' && Number.isFinite(value)) numbers[cleanName(key)] = value;
  }
  return numbers;
});
