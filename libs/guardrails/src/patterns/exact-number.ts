/** Maximum length of a text that is read as a number. */
const MAX_CHARS = 400;
const PLAIN = /^\s*([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,5}))?\s*$/;

/**
 * A lossless decimal number, `digits * 10^exponent`. `digits` has no leading or trailing zero and is empty for zero.
 */
export interface ExactNumber {
  readonly isNegative: boolean;
  readonly digits: string;
  readonly exponent: number;
}

/**
 * Reads a finite number, a bigint, or plain numeric text such as "5000", "5e3" and " 12.50 " without loss. Returns
 * undefined for anything else. A number is read from its shortest text, so 0.1 is one tenth.
 */
export function exactNumber(value: unknown): ExactNumber | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? fromText(String(value)) : undefined;
  if (typeof value === 'bigint') return fromText(String(value));
  return typeof value === 'string' && value.length <= MAX_CHARS ? fromText(value) : undefined;
}

function fromText(text: string): ExactNumber | undefined {
  const [matched, sign = '', whole = '', fraction = '', power = '0'] = PLAIN.exec(text) ?? [];
  if (matched === undefined || whole + fraction === '') return undefined;
  const significant = (whole + fraction).replace(/^0+/, '');
  const digits = significant.replace(/0+$/, '');
  if (digits === '') return { isNegative: false, digits, exponent: 0 };
  const exponent = Number(power) - fraction.length + (significant.length - digits.length);
  return { isNegative: sign === '-', digits, exponent };
}

/** Returns a negative number, zero or a positive number if `a` is less than, equal to or greater than `b`. */
export function compareExactly(a: ExactNumber, b: ExactNumber): number {
  const [signOfA, signOfB] = [signOf(a), signOf(b)];
  if (signOfA !== signOfB) return signOfA - signOfB;
  return signOfA === 1 ? compareMagnitudes(a, b) : compareMagnitudes(b, a);
}

function signOf({ digits, isNegative }: ExactNumber): -1 | 0 | 1 {
  if (digits === '') return 0;
  return isNegative ? -1 : 1;
}

function compareMagnitudes(a: ExactNumber, b: ExactNumber): number {
  const places = a.digits.length + a.exponent - (b.digits.length + b.exponent);
  if (places !== 0) return places;
  const length = Math.max(a.digits.length, b.digits.length);
  const [textOfA, textOfB] = [a.digits.padEnd(length, '0'), b.digits.padEnd(length, '0')];
  if (textOfA === textOfB) return 0;
  return textOfA < textOfB ? -1 : 1;
}
