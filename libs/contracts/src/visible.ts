/**
 * Characters that are invisible, hide in text or reverse it. Excludes joiners and variation selectors, which emoji and
 * several scripts need.
 */
const UNSEEN =
  /[[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u2800]--[\t\n\u{200c}-\u{200d}]--[\u{fe0e}-\u{fe0f}]]/gv;
/** In names, also characters that look like another or like nothing, and `\`, which begins an escape. */
const UNCLEAR =
  /[\p{Default_Ignorable_Code_Point}\p{C}\p{Zl}\p{Zp}\p{M}\u2800\u1100-\u11ff\ua960-\ua97f\ud7b0-\ud7ff\\‹›[\p{Zs}--[ ]][\p{Script=Latin}--[A-Za-z\u00c0-\u017f\u1e00-\u1eff]]]/v;
const PLAIN_NAME = /^(?! )(?:[!-[\]-~]| (?! |$))*$/;
/** Scripts with letters that look like Latin ones. */
const ALIKE = ['Cyrillic', 'Greek', 'Armenian', 'Cherokee', 'Coptic', 'Lisu'] as const;
const ALIKE_LETTER =
  /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}\p{Script=Coptic}\p{Script=Lisu}]/gu;
/** Right-to-left scripts, which reorder adjacent characters. */
const RIGHT_TO_LEFT =
  /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Samaritan}\p{Script=Mandaic}\p{Script=Adlam}\p{Script=Hanifi_Rohingya}\p{Script=Mende_Kikakui}\p{Script=Phoenician}\p{Script=Old_South_Arabian}]/gu;

/**
 * Makes an agent's text safe to display: invisible characters become escapes such as `\u202e`. Keeps line breaks and
 * tabs.
 */
export function visible(text: string): string {
  return text.replace(UNSEEN, escaped);
}

/**
 * Makes the name of a tool or agent unambiguous: two different names never look the same. Look-alike characters become
 * escapes, and a name in Cyrillic, Greek or another script with look-alikes is labeled: `рау ‹Cyrillic›`.
 */
export function visibleName(name: string): string {
  if (PLAIN_NAME.test(name)) return name;
  let shown = Array.from(name, ownForm)
    .join('')
    .replace(/^ | (?= )| $/g, escaped);
  const scripts = ALIKE.filter((script) => new RegExp(`\\p{Script=${script}}`, 'u').test(shown));
  const hasLatin = /\p{Script=Latin}/u.test(withoutEscapes(shown));
  if (scripts.length > 1 || (scripts.length === 1 && hasLatin)) shown = shown.replace(ALIKE_LETTER, escaped);
  else if (scripts.length === 1) shown = `${shown} ‹${scripts[0]}›`;
  const others = shown.replace(RIGHT_TO_LEFT, '');
  return others !== '' && others !== shown ? shown.replace(RIGHT_TO_LEFT, escaped) : shown;
}

/** Escapes raw control and direction characters in JSON strings: the same value, safe in a terminal. */
export function visibleJson(json: string): string {
  return json.replace(/[\u007f-\u009f\u00ad\p{Cf}\u2028\u2029]/gu, (character) =>
    Array.from({ length: character.length }, (_, at) => unitEscape(character.charCodeAt(at))).join(''),
  );
}

/** Returns a character, or its escape if it is ambiguous or has a look-alike form. */
function ownForm(character: string): string {
  const isUnclear = UNCLEAR.test(character) || character.normalize('NFKC') !== character;
  return isUnclear ? escaped(character) : character;
}

function withoutEscapes(shown: string): string {
  return shown.replace(/\\u(?:\{[0-9a-f]+\}|[0-9a-f]{4})/g, '');
}

function escaped(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return code > 0xffff ? `\\u{${code.toString(16)}}` : unitEscape(code);
}

function unitEscape(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, '0')}`;
}
