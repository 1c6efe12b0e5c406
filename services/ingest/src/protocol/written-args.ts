/** Numbers that may lose digits when they are read. */
const MAY_LOSE_DIGITS = /[\d.]{16}|\d[eE]/;

/** Of a longer body each character is looked at once; the expression looks up to 16 times. */
const MAX_TESTED_CHARS = 100_000;
/** Digits that are fewer are all kept. */
const FEWEST_LOST = 16;
/** Of a number that is looked at closely. */
const MOST_CHARS = 400;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const COMMA = 0x2c;

/**
 * The arguments as they are written in a valid JSON body, where a number among them is not what reading it gives: then
 * others read the same, such as 2^53 + 1 and 2^53, or 1e400 and 1e500. Undefined: they are exactly what they read as.
 */
export function inexactlyReadArgs(body: string): string | undefined {
  if (body.length <= MAX_TESTED_CHARS && !MAY_LOSE_DIGITS.test(body)) return undefined;
  let written: string | undefined;
  let isInexact = false;
  let depth = 0;
  // Of the member that is being read at the top: where its value begins, once its name was "args".
  let key = '';
  let from = -1;
  for (let at = 0; at < body.length; at++) {
    const code = body.charCodeAt(at);
    if (code === QUOTE) {
      const end = endOfText(body, at);
      if (depth === 1 && from < 0) key = body.slice(at, end + 1);
      at = end;
    } else if (code === COLON && depth === 1 && JSON.parse(key) === 'args') {
      // Of members with one name the last is read.
      [from, isInexact] = [at + 1, false];
    } else if (isOpening(code)) depth += 1;
    else if (isClosing(code) || (code === COMMA && depth === 1)) {
      if (depth === 1 && from >= 0) {
        written = isInexact ? body.slice(from, at) : undefined;
        from = -1;
      }
      if (isClosing(code)) depth -= 1;
    } else if (from >= 0 && beginsNumber(code)) {
      const end = endOfNumber(body, at);
      isInexact ||= !isReadExactly(body.slice(at, end));
      at = end - 1;
    }
  }
  return written;
}

/** The place of the closing quote. */
function endOfText(body: string, opening: number): number {
  for (let at = opening + 1; at < body.length; at++) {
    const code = body.charCodeAt(at);
    if (code === BACKSLASH) at += 1;
    else if (code === QUOTE) return at;
  }
  return body.length;
}

function endOfNumber(body: string, from: number): number {
  let end = from + 1;
  while (end < body.length && isInNumber(body.charCodeAt(end))) end += 1;
  return end;
}

/** A digit, or one of `.eE+-`. */
function isInNumber(code: number): boolean {
  return (
    (code >= 0x30 && code <= 0x39) || code === 0x2e || code === 0x65 || code === 0x45 || code === 0x2b || code === 0x2d
  );
}

function isOpening(code: number): boolean {
  return code === 0x7b || code === 0x5b;
}

function isClosing(code: number): boolean {
  return code === 0x7d || code === 0x5d;
}

function beginsNumber(code: number): boolean {
  return code === 0x2d || (code >= 0x30 && code <= 0x39);
}

/** The shortest text of the number that is read says the same. Nobody writes exact numbers that are longer. */
function isReadExactly(number: string): boolean {
  if (number.length < FEWEST_LOST && !/[eE]/.test(number)) return true;
  return number.length <= MOST_CHARS && digitsOf(number) === digitsOf(String(Number(number)));
}

/** Sign, digits without zeros at either end, and the power of ten of the last of them. */
function digitsOf(number: string): string {
  const [, sign = '', whole = number, fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(number) ?? [];
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  if (significant === '') return '0';
  const power = BigInt(exponent) - BigInt(fraction.length) + BigInt(digits.length - significant.length);
  return `${sign}${significant}e${power}`;
}
