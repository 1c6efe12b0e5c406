const PLAIN = /^[\x21-\x7e]*$/;
/** Joiners, fillers, direction marks, variation selectors, control characters. */
const INVISIBLE = /[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cc}]/gu;

/** A name as a reader sees it: one form of each character (NFKC), nothing invisible, no space around it. */
export function visibleName(name: string): string {
  if (PLAIN.test(name)) return name;
  return name.normalize('NFKC').replaceAll(INVISIBLE, '').replaceAll(/\s+/g, ' ').trim();
}

/** A name as rules compare it. What only looks like another letter is another letter. */
export function foldedName(name: string): string {
  return visibleName(name).toLowerCase();
}

/** Scripts with letters that look like those of another one of them. */
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
/** Of no script, or Chinese, Japanese and Korean, which are written together with Latin letters. */
const ANYWHERE =
  /[\p{Script=Common}\p{Script=Inherited}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Bopomofo}\p{Script=Hangul}]/u;

/**
 * True for a name that has letters of two scripts which are not written together, as where one stands in for another
 * that looks the same (Unicode Technical Standard 39, "highly restrictive").
 */
export function mixesScripts(name: string): boolean {
  if (PLAIN.test(name)) return false;
  const letters = Array.from(name.normalize('NFKC')).filter((one) => LETTER.test(one) && !ANYWHERE.test(one));
  const script = ALIKE.find((one) => letters.some((letter) => one.test(letter)));
  return script !== undefined && !letters.every((letter) => script.test(letter));
}
