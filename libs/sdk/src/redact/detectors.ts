import { JWT, PRIVATE_KEY, SECRET_KEY } from '@agentlens/guardrails/detectors';
import { iban, luhn } from './checksums.ts';

export interface Detector {
  /** What the finding is called in the text that takes its place. */
  readonly name: string;
  /**
   * Every pattern here is read in linear time: each repetition is bounded, or cannot also match what follows it, and
   * begins at a place that few texts have.
   */
  readonly pattern: RegExp;
  /** Says no to what only looks like it. */
  readonly confirm?: (found: string) => boolean;
}

const digits = (text: string) => text.replaceAll(/\D/g, '').length;

/** Secrets before personal data: a token may hold what looks like a number. */
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
    // International with +, or with separators as people write them: a bare row of digits is an id more often.
    name: 'phone',
    pattern:
      /(?<![\w.+])(?:\+\d{1,3}[ .-]?(?:\(\d{1,4}\)[ .-]?)?\d(?:[ .-]?\d){5,12}|\(\d{2,4}\)[ .-]?\d{3,4}[ .-]\d{3,4}|\d{3}[.-]\d{3}[.-]\d{4})(?!\w)/g,
    confirm: (found) => digits(found) >= 7 && digits(found) <= 15,
  },
] as const satisfies readonly Detector[];

export type DetectorName = (typeof DETECTORS)[number]['name'];
