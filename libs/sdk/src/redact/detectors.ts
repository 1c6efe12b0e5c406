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
  {
    name: 'private_key',
    pattern: /-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[^-]{0,20000}(?:-----END [A-Z ]{0,30}PRIVATE KEY-----)?/g,
  },
  {
    name: 'jwt',
    pattern: /\beyJ[A-Za-z0-9_-]{8,8000}\.eyJ[A-Za-z0-9_-]{2,8000}\.[A-Za-z0-9_-]{8,2000}/g,
  },
  {
    // Providers' own prefixes: OpenAI, Anthropic, GitHub, GitLab, Slack, AWS, Google, Stripe, npm, Hugging Face,
    // SendGrid, and ours.
    name: 'api_key',
    pattern:
      /\b(?:sk-(?:ant-|proj-)?[A-Za-z0-9_-]{20,200}|gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{22,255}|glpat-[A-Za-z0-9_-]{20,64}|xox[abeoprs]-[A-Za-z0-9-]{10,250}|(?:AKIA|ASIA)[0-9A-Z]{16}|AIza[0-9A-Za-z_-]{35}|(?:sk|rk|pk)_(?:live|test)_[0-9A-Za-z]{16,247}|npm_[A-Za-z0-9]{36}|hf_[A-Za-z0-9]{30,64}|SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{16,64}|als_[0-9a-f]{32,64}|agk_[a-z]{1,10}_[0-9A-Za-z]{8}_[0-9A-Za-z]{49})/g,
  },
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
