import { JWT, PRIVATE_KEY, SECRET_KEY } from '@agentlens/guardrails/detectors';

/** Luhn check of card numbers, over the digits of a text. */
export function luhn(text: string): boolean {
  let sum = 0;
  let count = 0;
  for (let index = text.length - 1; index >= 0; index--) {
    const digit = text.charCodeAt(index) - 48;
    if (digit < 0 || digit > 9) continue;
    const doubled = count % 2 === 1 ? digit * 2 : digit;
    sum += doubled > 9 ? doubled - 9 : doubled;
    count++;
  }
  return count >= 13 && count <= 19 && sum % 10 === 0;
}

/** ISO 13616: with the head moved to the end and letters written as 10 to 35, the number modulo 97 is 1. */
export function iban(text: string): boolean {
  const compact = text.replaceAll(' ', '').toUpperCase();
  if (compact.length < 15 || compact.length > 34) return false;
  let remainder = 0;
  for (const char of compact.slice(4) + compact.slice(0, 4)) {
    const value = Number.parseInt(char, 36);
    remainder = (remainder * (value > 9 ? 100 : 10) + value) % 97;
  }
  return remainder === 1;
}

export interface Detector {
  /** Name of the finding in the replacement text. */
  readonly name: string;
  /**
   * Every pattern runs in linear time: each repetition is bounded or cannot match what follows it, and starts at a rare
   * position.
   */
  readonly pattern: RegExp;
  /** Rejects false positives. */
  readonly confirm?: (found: string) => boolean;
}

const digits = (text: string) => text.replaceAll(/\D/g, '').length;

/** Secrets before personal data: a token may contain something that looks like a number. */
export const DETECTORS = [
  { name: 'private_key', pattern: PRIVATE_KEY },
  { name: 'jwt', pattern: JWT },
  { name: 'api_key', pattern: SECRET_KEY },
  {
    name: 'email',
    pattern: /(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}\b/g,
  },
  {
    name: 'iban',
    pattern: /\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?\b/g,
    confirm: iban,
  },
  {
    name: 'credit_card',
    pattern: /(?<![\d.-])\d(?:[ -]?\d){12,18}(?![\d-])/g,
    confirm: luhn,
  },
  {
    // International with +, or with the usual separators: a bare row of digits is usually an id.
    name: 'phone',
    pattern:
      /(?<![\w.+])(?:\+\d{1,3}[ .-]?(?:\(\d{1,4}\)[ .-]?)?\d(?:[ .-]?\d){5,12}|\(\d{2,4}\)[ .-]?\d{3,4}[ .-]\d{3,4}|\d{3}[.-]\d{3}[.-]\d{4})(?!\w)/g,
    confirm: (found) => digits(found) >= 7 && digits(found) <= 15,
  },
] as const satisfies readonly Detector[];

export type DetectorName = (typeof DETECTORS)[number]['name'];
