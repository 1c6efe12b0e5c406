import { redactDeep } from './redact-deep.ts';

const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;
const NUMBER = /^-?\d[\d.eE+-]*$/;
/** Start of Unicode's private use area, whose characters have no meaning. */
const FIRST_MARK = 0xe000;

/**
 * Redacts JSON text like `redactDeep`, but keeps every number as written, so numbers beyond double precision are not
 * rounded.
 * @throws SyntaxError if the text is not JSON
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
