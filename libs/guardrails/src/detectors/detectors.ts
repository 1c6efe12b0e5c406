import { spend } from '../decisions/step-meter.ts';
import { JWT, PRIVATE_KEY, SECRET_KEY } from './secrets.ts';

/** A piece of text that a detector recognized: `[from, to)` in UTF-16 units. */
export interface Found {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

interface Detector {
  readonly title: string;
  readonly pattern: RegExp;
  /** Validates a match of the pattern. */
  readonly holds?: (text: string) => boolean;
  /** True if no letter or digit may be adjacent. */
  readonly apart?: boolean;
  /** True if it is written in groups, so that adjacent text may look like another group. */
  readonly grouped?: boolean;
}

/**
 * Built-in patterns, safe for the native engine: every repetition is bounded, or starts only where no similar text
 * precedes it, so matching is linear in the text. Patterns of users use `patterns/pattern.ts` instead.
 */
const DETECTOR_LIST = {
  email: {
    title: 'E-mail address',
    pattern: /(?<![\w.!#$%&+/=?^{|}~-])[\w.!#$%&+/=?^{|}~-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,10}[A-Za-z]{2,24}/g,
  },
  email_domain: { title: 'Email domain', pattern: /@(?:[A-Za-z0-9-]{1,63}\.){1,10}[A-Za-z]{2,24}/g },
  phone: {
    title: 'Telephone number',
    pattern: /(?:\+|0|\()[0-9][0-9 ()./-]{5,18}[0-9]/g,
    apart: true,
    holds: (text) => between(digitsOf(text).length, 8, 15) && !/^\d{1,3}(?:\.\d{1,3}){3}$/.test(text),
  },
  credit_card: {
    title: 'Payment card number',
    pattern: /[0-9](?:[ -]?[0-9]){11,18}/g,
    apart: true,
    grouped: true,
    holds: (text) => luhn(digitsOf(text)),
  },
  iban: {
    title: 'IBAN',
    pattern: /[A-Za-z]{2}[0-9]{2}(?: ?[A-Za-z0-9]){11,30}/g,
    apart: true,
    grouped: true,
    holds: (text) => iban(text.replaceAll(' ', '').toUpperCase()),
  },
  uk_nino: {
    title: 'UK National Insurance number',
    pattern: /[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[A-D]/gi,
    apart: true,
    holds: (text) => !['BG', 'GB', 'KN', 'NK', 'NT', 'TN', 'ZZ'].includes(text.slice(0, 2).toUpperCase()),
  },
  ip_address: {
    title: 'IP address',
    pattern: /[0-9]{1,3}(?:\.[0-9]{1,3}){3}|(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{0,4}/g,
    apart: true,
    holds: (text) => ipv4(text) || ipv6(text),
  },
  url: { title: 'Web address', pattern: /(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{1,20}:\/\/[^\s"'<>]+/g },
  jwt: { title: 'JSON Web Token', pattern: JWT },
  private_key: { title: 'Private key', pattern: PRIVATE_KEY },
  secret_key: { title: 'Service secret key', pattern: SECRET_KEY },
} as const satisfies Record<string, Detector>;

export type DetectorName = keyof typeof DETECTOR_LIST;
/** The detectors, by the names used in rules. */
const DETECTORS: Readonly<Record<DetectorName, Detector>> = DETECTOR_LIST;
export const DETECTOR_NAMES = Object.keys(DETECTORS) as [DetectorName, ...DetectorName[]];

/** Longest text that is searched, in UTF-16 units; the rest is ignored. The gateway truncates longer texts. */
export const LONGEST_TEXT = 250_000;

/** Characters read per step, and steps per candidate: for ordinary detectors, and for those that strip groups. */
const CHARACTERS_A_STEP = 2;
const CANDIDATE_STEPS = 20;
const GROUPED_STEPS = 200;

/** Returns all matches of a detector in `text`, in order. Linear in the text. */
export function detect(name: DetectorName, text: string): Found[] {
  const detector = DETECTORS[name];
  const { pattern } = detector;
  const looked = text.slice(0, LONGEST_TEXT);
  const found: Found[] = [];
  spend(looked.length / CHARACTERS_A_STEP);
  for (let at = 0; at <= looked.length; ) {
    pattern.lastIndex = at;
    const match = pattern.exec(looked);
    if (match === null) break;
    spend('grouped' in detector ? GROUPED_STEPS : CANDIDATE_STEPS);
    const [from, to] = [match.index, pattern.lastIndex];
    const piece = accepted(detector, looked, from, to);
    if (piece !== null) found.push({ from, to: from + piece.length, text: piece });
    at = piece === null ? resume(detector, looked, from, to) : from + piece.length;
  }
  return found;
}

/** Returns the valid part of a match, stripping groups from its end if necessary, or null if there is none. */
function accepted({ holds = () => true, apart, grouped }: Detector, text: string, from: number, to: number) {
  if (to === from || (apart && from > 0 && isWordAt(text, from - 1))) return null;
  for (let end = to; end > from; end = lastGap(text, from, end)) {
    const piece = text.slice(from, end);
    if (!(apart && isWordAt(text, end)) && holds(piece)) return piece;
    if (!grouped) return null;
  }
  return null;
}

/** Returns where to continue after an invalid match: a valid one may begin at the next group. */
function resume({ grouped }: Detector, text: string, from: number, to: number): number {
  for (let at = from + 1; grouped && at < to; at++) if (isGap(text[at])) return at;
  return Math.max(to, from + 1);
}

function lastGap(text: string, from: number, end: number): number {
  for (let at = end - 1; at > from; at--) if (isGap(text[at])) return at;
  return from;
}

function isGap(character: string | undefined): boolean {
  return character === ' ' || character === '-';
}

function isWordAt(text: string, at: number): boolean {
  return /\w/.test(text.charAt(at));
}

/**
 * Replaces every match of the detectors in `text` with the detector's name in brackets.
 * @throws if the text is too long to be searched whole
 */
export function redact(names: readonly DetectorName[], text: string): string {
  if (text.length > LONGEST_TEXT) throw new Error('a text is too long to be redacted as a whole');
  return names.reduce((rest, name) => {
    let clean = '';
    let at = 0;
    for (const { from, to } of detect(name, rest)) {
      clean += `${rest.slice(at, from)}[${name}]`;
      at = to;
    }
    return at === 0 ? rest : clean + rest.slice(at);
  }, text);
}

function digitsOf(text: string): string {
  return text.replaceAll(/\D/g, '');
}

function between(value: number, least: number, most: number): boolean {
  return value >= least && value <= most;
}

/** Check digit of card numbers, ISO/IEC 7812. */
export function luhn(digits: string): boolean {
  if (!between(digits.length, 12, 19) || /^0+$/.test(digits)) return false;
  let sum = 0;
  for (let place = 0; place < digits.length; place++) {
    const digit = Number(digits[digits.length - 1 - place]) * (place % 2 === 0 ? 1 : 2);
    sum += digit > 9 ? digit - 9 : digit;
  }
  return sum % 10 === 0;
}

const DIGIT_ZERO = 48;
const DIGIT_NINE = 57;
const LETTER_A = 65;

/**
 * Check digits of an IBAN, ISO 13616: with the first four characters moved to the end and letters as numbers, the
 * remainder of a division by 97 is 1.
 */
function iban(text: string): boolean {
  if (!between(text.length, 15, 34)) return false;
  let rest = 0;
  for (let place = 0; place < text.length; place++) {
    const code = text.charCodeAt((place + 4) % text.length);
    const value = code <= DIGIT_NINE ? code - DIGIT_ZERO : code - LETTER_A + 10;
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97;
  }
  return rest === 1;
}

function ipv4(text: string): boolean {
  const parts = text.split('.');
  return parts.length === 4 && parts.every((part) => /^\d{1,3}$/.test(part) && Number(part) <= 255);
}

function ipv6(text: string): boolean {
  const groups = text.split(':');
  const gaps = text.split('::').length - 1;
  if (gaps > 1 || groups.length < 3 || groups.filter((group) => group !== '').length === 0) return false;
  return gaps === 1 ? groups.length <= 9 : groups.length === 8 && groups.every((group) => group !== '');
}
