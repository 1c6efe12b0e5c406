/** Redacting of secrets and personal data. This entry point does not load the conditions. */
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
