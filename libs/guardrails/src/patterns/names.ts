const PLAIN = /^[\x21-\x7e]*$/;
/** Joiners, fillers, direction marks, variation selectors, control characters. */
const INVISIBLE = /[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cc}]/gu;

/** Longer than any name after its characters were expanded, of which one can become 18. */
const MAX_EXPANDED_CHARS = 1_024;

/**
 * Returns a name as a reader sees it: NFKC-normalized, without invisible characters, trimmed. A name that expands to an
 * absurd length keeps its beginning.
 */
export function visibleName(name: string): string {
  if (PLAIN.test(name)) return name;
  return name.normalize('NFKC').slice(0, MAX_EXPANDED_CHARS).replaceAll(INVISIBLE, '').replaceAll(/\s+/g, ' ').trim();
}

/** Returns a name as rules compare it: visible form in lower case. Look-alike letters remain different. */
export function foldedName(name: string): string {
  return visibleName(name).toLowerCase();
}

/** Maximum names of a list that are not plain ASCII: each costs microseconds, and every rule of a call compares them. */
const MAX_ODD_NAMES = 1_000;
const FOLDED = new WeakMap<readonly string[], readonly string[]>();

/** Folds a list of names once. Leaves out names beyond a thousand that are not plain ASCII. */
export function foldedNames(names: readonly string[]): readonly string[] {
  const known = FOLDED.get(names);
  if (known !== undefined) return known;
  let odd = 0;
  const folded = names.flatMap((name) => (PLAIN.test(name) || ++odd <= MAX_ODD_NAMES ? [foldedName(name)] : []));
  FOLDED.set(names, folded);
  return folded;
}

/** Scripts with look-alike letters. */
const ALIKE = [
  /\p{Script=Latin}/u,
  /\p{Script=Cyrillic}/u,
  /\p{Script=Greek}/u,
  /\p{Script=Armenian}/u,
  /\p{Script=Cherokee}/u,
  /\p{Script=Coptic}/u,
  /\p{Script=Lisu}/u,
];
const LETTER = /\p{L}/u;
/** Letters without a script, and Chinese, Japanese and Korean, which are commonly mixed with Latin. */
const ANYWHERE =
  /[\p{Script=Common}\p{Script=Inherited}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Bopomofo}\p{Script=Hangul}]/u;

/**
 * Returns true if a name mixes scripts that are not commonly written together, as in a spoofed name (Unicode Technical
 * Standard 39, "highly restrictive").
 */
export function mixesScripts(name: string): boolean {
  if (PLAIN.test(name)) return false;
  const letters = Array.from(name.normalize('NFKC')).filter((one) => LETTER.test(one) && !ANYWHERE.test(one));
  const script = ALIKE.find((one) => letters.some((letter) => one.test(letter)));
  return script !== undefined && !letters.every((letter) => script.test(letter));
}

/** Returns true if a glob matches all of `text`, ignoring case. `*` is the only special character. Linear in both. */
export function globMatches(glob: string, text: string): boolean {
  return globMatchesFolded(foldedName(glob), foldedName(text));
}

/** Like `globMatches`, for case-folded arguments. */
export function globMatchesFolded(glob: string, text: string): boolean {
  const star = glob.indexOf('*');
  if (star < 0) return glob === text;
  const pieces = glob.split('*');
  const head = pieces[0] ?? '';
  const tail = pieces.at(-1) ?? '';
  if (text.length < head.length + tail.length || !text.startsWith(head) || !text.endsWith(tail)) return false;
  let at = head.length;
  const end = text.length - tail.length;
  for (const piece of pieces.slice(1, -1)) {
    const found = text.indexOf(piece, at);
    if (found < 0 || found + piece.length > end) return false;
    at = found + piece.length;
  }
  return true;
}
