import { asText } from '../ui/as-text.ts';
import { Digits, parseExact } from '../ui/exact-json.ts';

/** The arguments of a call that waits, as far as its alert tells them. */
export interface ToldCall {
  readonly args: Readonly<Record<string, unknown>> | undefined;
  /** The arguments as text, where they were cut and are no JSON any more. */
  readonly text: string | undefined;
}

/** An approval's message ends with its arguments, redacted: `Agent x asks to call y with {...}`. */
export function callInMessage(message: string): ToldCall {
  const begin = message.indexOf(' with {');
  if (begin < 0) return { args: undefined, text: undefined };
  const text = message.slice(begin + ' with '.length);
  // Long arguments are cut in a message, and then no JSON any more.
  return { args: parseExact(text) as Record<string, unknown> | undefined, text };
}

/** The first values of a call, for one line. */
export function inOneLine({ args, text }: ToldCall): string {
  if (args === undefined) return text ?? '';
  return Object.entries(args)
    .filter(([, value]) => typeof value !== 'object' || value instanceof Digits)
    .slice(0, 3)
    .map(([name, value]) => `${name} ${asText(value)}`)
    .join(', ');
}

/** What the platform hid before it stored anything: `[credit_card]`. */
export function isRedacted(value: unknown): boolean {
  return typeof value === 'string' && /^\[[a-z_ ]+\]$/i.test(value);
}
