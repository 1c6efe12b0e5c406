import type { ParsedScript, Word, WordPart } from 'unbash';

/** The word's text if it is fixed, or null. */
export function readWord(word: Word): string | null {
  let dynamic = false;
  for (const part of word.parts ?? []) {
    if (part.type === 'Literal' || part.type === 'SingleQuoted' || part.type === 'AnsiCQuoted') continue;
    if (part.type === 'DoubleQuoted' || part.type === 'LocaleString')
      dynamic ||= part.parts.some((child) => child.type !== 'Literal');
    else dynamic = true;
  }
  return dynamic ? null : word.value;
}

/** Whether a word holds the output of commands, which no text shows. */
export function hasSubstitution(word: Word): boolean {
  return (word.parts ?? []).some(isSubstitution);
}

function isSubstitution(part: WordPart): boolean {
  if (part.type === 'CommandExpansion' || part.type === 'ProcessSubstitution') return true;
  return (part.type === 'DoubleQuoted' || part.type === 'LocaleString') && part.parts.some(isSubstitution);
}

/** Whether the parser understood the whole script. */
export function isWhole(script: ParsedScript): boolean {
  return (script.errors?.length ?? 0) === 0;
}
