import { redactDeep } from './redact-deep.ts';

const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;
const NUMBER = /^-?\d[\d.eE+-]*$/;
/** Characters that mean nothing to anybody (Unicode's private use area). */
const FIRST_MARK = 0xe000;

/**
 * JSON text, redacted like `redactDeep` does it, with every number in the digits it was written in: a number beyond
 * double precision is not rounded.
 * @throws SyntaxError where the text is no JSON
 */
export function redactJson(text: string): string {
  const mark = unusedCharacter(JSON.stringify(JSON.parse(text)));
  const marked = text.replace(TOKENS, (token) => (token.startsWith('"') ? token : `"${mark}${token}"`));
  const redacted = JSON.stringify(redactDeep(JSON.parse(marked)));
  const unmarked = redacted.replace(TOKENS, (token) => {
    const inner = token.slice(1, -1);
    return inner.startsWith(mark) && NUMBER.test(inner.slice(1)) ? inner.slice(1) : token;
  });
  return unmarked.replaceAll(mark, '');
}

function unusedCharacter(text: string): string {
  for (let code = FIRST_MARK; ; code++) {
    const character = String.fromCharCode(code);
    if (!text.includes(character)) return character;
  }
}
