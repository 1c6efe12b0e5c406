import { type DetectorName, LONGEST_TEXT, redact } from './detectors.ts';
import { isSecretName } from './secrets.ts';

/** Secrets and personal data. A web address alone is neither. */
const SENSITIVE: readonly DetectorName[] = [
  ...(['private_key', 'jwt', 'secret_key'] as const),
  ...(['email', 'iban', 'credit_card', 'uk_nino', 'ip_address', 'phone'] as const),
];
/** Maximum nesting, so that a hostile value cannot exhaust the stack. */
const MAX_LEVELS = 64;

/**
 * Copies a JSON value without anything the detectors recognize (in strings, numbers and keys) and without values under
 * secret names. What is too long or too deep to be searched is left out. Linear in the value.
 */
export function redactDeep(value: unknown): unknown {
  return clean(value, 0);
}

function clean(value: unknown, level: number): unknown {
  if (typeof value === 'string') return cleanText(value);
  if (typeof value === 'number') {
    const text = String(value);
    const cleaned = cleanText(text);
    return cleaned === text ? value : cleaned;
  }
  if (typeof value !== 'object' || value === null) return value;
  if (level >= MAX_LEVELS) return '[too deep]';
  if (Array.isArray(value)) return value.map((item) => clean(item, level + 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      cleanText(name),
      isSecretName(name) && member !== null ? '[secret]' : clean(member, level + 1),
    ]),
  );
}

function cleanText(text: string): string {
  return text.length > LONGEST_TEXT ? '[too long]' : redact(SENSITIVE, text);
}
