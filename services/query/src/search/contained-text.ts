import { type RawBuilder, sql } from 'kysely';

/**
 * True if a text column or JSON contains a text, in any case, and however JSON inside of JSON writes it: results of
 * tools are often JSON in a string, where quotes have backslashes and Python's encoder writes other scripts as `\u00e9`.
 * Accents match composed and decomposed. Needs no locale of the database.
 *
 * @param text at most a few hundred characters: a character has up to a dozen written forms
 */
export function containsText(column: RawBuilder<string>, text: string): RawBuilder<boolean> {
  // Folds A to Z only, in any locale. The pattern has both cases of other letters.
  const folded = sql`lower(${column} collate "C")`;
  // Much cheaper than a pattern, and most searches are a word in ASCII.
  if (PLAIN.test(text)) return sql`position(${text.toLowerCase()} in ${folded}) > 0`;
  return sql`${folded} ~ ${patternFor(text)} collate "C"`;
}

/** Text that every JSON encoder writes as it is. */
const PLAIN = /^[ !#-[\]-~]*$/;
const ESCAPES: Readonly<Record<string, string>> = { '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't' };

/** Postgres' regular expression for all written forms of a text. */
function patternFor(text: string): string {
  return Array.from(text.normalize('NFC'), (character) => `(?:${[...formsOfCharacter(character)].join('|')})`).join('');
}

function formsOfCharacter(character: string): ReadonlySet<string> {
  const short = ESCAPES[character];
  if (short !== undefined) return new Set([`\\\\+${short}`, escapeUnits(character)]);
  // At any depth of JSON in JSON, and as written at the outermost level.
  if (character === '"' || character === '\\') return new Set([`\\\\*[${character === '"' ? '"' : '\\\\'}]`]);
  const cases = [character, character.toLowerCase(), character.toUpperCase()];
  const compositions = cases.flatMap((one) => [one.normalize('NFC'), one.normalize('NFD')]);
  return new Set(compositions.flatMap((one) => [quote(one), Array.from(one, escapeUnits).join('')]));
}

/** `\u00e9`, with the backslashes of any depth; ASCII as it is. */
function escapeUnits(character: string): string {
  if (character >= ' ' && character <= '~') return quote(character);
  const units = Array.from({ length: character.length }, (_, at) => character.charCodeAt(at));
  return units.map((unit) => `\\\\+u${unit.toString(16).padStart(4, '0')}`).join('');
}

function quote(characters: string): string {
  return characters.replace(/[A-Z]/g, (letter) => letter.toLowerCase()).replace(/[^\p{L}\p{N}\p{M}\s]/gu, '\\$&');
}

const CHARS_BEFORE = 24;
const CHARS_AFTER = 80;
/** JSON in a string in JSON, and so on. */
const MAX_DEPTH = 4;

/** The part of an event's payload (JSON) around a text, as the conversation said it; the beginning if it is not found. */
export function excerptAround(payload: string, text: string): string {
  const wanted = fold(text);
  const value = parsed(payload);
  const said = value === undefined ? undefined : findText(value, wanted, 0);
  return cut(said ?? payload, wanted);
}

/** The text among the names and values of a JSON value that contains `wanted`. */
function findText(value: unknown, wanted: string, depth: number): string | undefined {
  if (typeof value === 'string') {
    const inner = depth < MAX_DEPTH && /^\s*[{["]/.test(value) ? parsed(value) : undefined;
    const found = inner === undefined ? undefined : findText(inner, wanted, depth + 1);
    return found ?? (fold(value).includes(wanted) ? value : undefined);
  }
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [name, member] of Object.entries(value)) {
    const found =
      findText(member, wanted, depth) ??
      (fold(name).includes(wanted) ? `${name}: ${JSON.stringify(member)}` : undefined);
    if (found !== undefined) return found;
  }
  return undefined;
}

function cut(text: string, wanted: string): string {
  const composed = text.normalize('NFC');
  const at = Math.max(0, fold(composed).indexOf(wanted));
  const start = Math.max(0, at - CHARS_BEFORE);
  const end = Math.min(composed.length, at + wanted.length + CHARS_AFTER);
  const excerpt = composed.slice(start, end).replace(/\s+/g, ' ');
  return `${start > 0 ? '…' : ''}${excerpt}${end < composed.length ? '…' : ''}`.toWellFormed();
}

function fold(text: string): string {
  return text.normalize('NFC').toLowerCase();
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
