import { endOfText } from '@agentlens/contracts';

/** Numbers that may lose digits when they are parsed. */
const MAY_LOSE_DIGITS = /[\d.]{16}|\d[eE]/;

/** In a longer body each character is scanned once; the regular expression scans up to 16 times. */
const MAX_TESTED_CHARS = 100_000;
/** Shorter numbers keep all their digits. */
const MIN_LOSSY_DIGITS = 16;
/** Maximum length of a number that is compared exactly. */
const MAX_NUMBER_CHARS = 400;

const QUOTE = 0x22;
const COLON = 0x3a;
const COMMA = 0x2c;

/**
 * Returns the arguments as they are written in a valid JSON body if parsing changes a number in them. Other arguments
 * would then parse to the same value, such as 2^53 + 1 and 2^53, or 1e400 and 1e500. Undefined if they are parsed
 * exactly.
 */
export function inexactlyReadArgs(body: string): string | undefined {
  if (body.length <= MAX_TESTED_CHARS && !MAY_LOSE_DIGITS.test(body)) return undefined;
  let written: string | undefined;
  let isInexact = false;
  let depth = 0;
  // Start of the current top-level value if its name is "args".
  let key = '';
  let from = -1;
  for (let at = 0; at < body.length; at++) {
    const code = body.charCodeAt(at);
    if (code === QUOTE) {
      const end = endOfText(body, at);
      if (depth === 1 && from < 0) key = body.slice(at, end + 1);
      at = end;
    } else if (code === COLON && depth === 1 && JSON.parse(key) === 'args') {
      // Of several members with one name, the last counts.
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

/**
 * Returns true if the shortest text of the parsed number is the same. Longer exact numbers do not occur in practice.
 */
function isReadExactly(number: string): boolean {
  if (number.length < MIN_LOSSY_DIGITS && !/[eE]/.test(number)) return true;
  return number.length <= MAX_NUMBER_CHARS && digitsOf(number) === digitsOf(String(Number(number)));
}

/** Sign, digits without zeros at either end, and the power of ten of the last digit. */
function digitsOf(number: string): string {
  const [, sign = '', whole = number, fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(number) ?? [];
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  if (significant === '') return '0';
  const power = BigInt(exponent) - BigInt(fraction.length) + BigInt(digits.length - significant.length);
  return `${sign}${significant}e${power}`;
}
