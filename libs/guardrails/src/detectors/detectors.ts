import { RE2JS } from 're2js';

/** A piece of text that looks like something sensitive: `[from, to)` in UTF-16 units. */
export interface Found {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

interface Detector {
  readonly title: string;
  readonly pattern: RE2JS;
  /** Judges what the pattern found. */
  readonly holds?: (text: string) => boolean;
}

const DETECTOR_LIST = {
  email: {
    title: 'E-mail address',
    pattern: re('[\\w.!#$%&+/=?^{|}~-]{1,64}@(?:[A-Za-z0-9-]{1,63}\\.)+[A-Za-z]{2,24}\\b'),
  },
  email_domain: { title: 'Domain of an e-mail address', pattern: re('@(?:[A-Za-z0-9-]{1,63}\\.)+[A-Za-z]{2,24}\\b') },
  phone: {
    title: 'Telephone number',
    pattern: re('(?:\\+|\\b00|\\b0|\\()[0-9][0-9 ()./-]{5,18}[0-9]\\b'),
    holds: (text) => between(digitsOf(text).length, 8, 15) && !/^\d{1,3}(?:\.\d{1,3}){3}$/.test(text),
  },
  credit_card: {
    title: 'Payment card number',
    pattern: re('\\b[0-9](?:[ -]?[0-9]){11,18}\\b'),
    holds: (text) => luhn(digitsOf(text)),
  },
  iban: {
    title: 'IBAN',
    pattern: re('(?i)\\b[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]){11,30}\\b'),
    holds: (text) => iban(text.replaceAll(' ', '').toUpperCase()),
  },
  uk_nino: {
    title: 'UK National Insurance number',
    pattern: re('(?i)\\b[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[A-D]\\b'),
    holds: (text) => !['BG', 'GB', 'KN', 'NK', 'NT', 'TN', 'ZZ'].includes(text.slice(0, 2).toUpperCase()),
  },
  ip_address: {
    title: 'IP address',
    pattern: re('\\b[0-9]{1,3}(?:\\.[0-9]{1,3}){3}\\b|(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{0,4}'),
    holds: (text) => ipv4(text) || ipv6(text),
  },
  url: { title: 'Web address', pattern: re('\\b[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\\s"\'<>]+') },
  jwt: { title: 'JSON Web Token', pattern: re('\\beyJ[\\w-]{5,}\\.[\\w-]{5,}\\.[\\w-]*') },
  private_key: {
    title: 'Private key',
    pattern: re('-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----(?s:.)*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----|\\z)'),
  },
  secret_key: {
    title: 'Secret key of a service',
    pattern: re(
      '\\b(?:AKIA|ASIA)[A-Z0-9]{16}\\b|\\bgh[pousr]_[A-Za-z0-9]{36,}|\\bgithub_pat_\\w{22,}|\\bxox[abprs]-[\\w-]{10,}|' +
        '\\b(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}|\\bsk-[\\w-]{20,}|\\bAIza[\\w-]{35}|\\bwhsec_[A-Za-z0-9+/=]{20,}|' +
        '\\bglpat-[\\w-]{20,}|\\bnpm_[A-Za-z0-9]{36}|\\bal_[a-z0-9]{2,}_[\\w-]{16,}',
    ),
  },
} as const satisfies Record<string, Detector>;

export type DetectorName = keyof typeof DETECTOR_LIST;
/** What can be looked for in the arguments of calls, by the names rules use. */
export const DETECTORS: Readonly<Record<DetectorName, Detector>> = DETECTOR_LIST;
export const DETECTOR_NAMES = Object.keys(DETECTORS) as [DetectorName, ...DetectorName[]];

/** Longest text looked through; what comes after is not. Arguments of calls are capped at the edge well below. */
const MAX_TEXT = 1_000_000;

/** Everything in `text` that a detector recognises, in order. Linear in the text. */
export function detect(name: DetectorName, text: string): Found[] {
  const { pattern, holds = () => true } = DETECTORS[name];
  const matcher = pattern.matcher(text.slice(0, MAX_TEXT));
  const found: Found[] = [];
  while (matcher.find()) {
    const [from, to] = [matcher.start(), matcher.end()];
    if (to > from && holds(text.slice(from, to))) found.push({ from, to, text: text.slice(from, to) });
  }
  return found;
}

/** `text` with everything the detectors recognise replaced by the detector's name in brackets. */
export function redact(names: readonly DetectorName[], text: string): string {
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

function re(source: string): RE2JS {
  return RE2JS.compile(source);
}

function digitsOf(text: string): string {
  return text.replaceAll(/\D/g, '');
}

function between(value: number, least: number, most: number): boolean {
  return value >= least && value <= most;
}

/** ISO/IEC 7812: the check digit of card numbers. */
export function luhn(digits: string): boolean {
  if (!between(digits.length, 12, 19) || /^0+$/.test(digits)) return false;
  let sum = 0;
  for (let place = 0; place < digits.length; place++) {
    const digit = Number(digits[digits.length - 1 - place]) * (place % 2 === 0 ? 1 : 2);
    sum += digit > 9 ? digit - 9 : digit;
  }
  return sum % 10 === 0;
}

/** ISO 13616: the country's letters and check digits last, letters as numbers, the whole leaves 1 divided by 97. */
function iban(text: string): boolean {
  if (!between(text.length, 15, 34)) return false;
  let rest = 0;
  for (const character of text.slice(4) + text.slice(0, 4)) {
    const value = Number.parseInt(character, 36);
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
