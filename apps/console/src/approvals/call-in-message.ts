import { visible } from '../../../../libs/contracts/src/visible.ts';
import { asText } from '../ui/as-text.ts';
import { Digits, parseExact } from '../ui/exact-json.ts';

/** Arguments of a call, as far as the message of its alert has them. */
export interface ToldCall {
  readonly args: Readonly<Record<string, unknown>> | undefined;
  /** Truncated arguments, which are no longer valid JSON. */
  readonly text: string | undefined;
}

/** An approval's message ends with its arguments, redacted: `Agent x asks to call y with {...}`. */
export function callInMessage(message: string): ToldCall {
  const begin = message.indexOf(' with {');
  if (begin < 0) return { args: undefined, text: undefined };
  const text = message.slice(begin + ' with '.length);
  // Messages truncate long arguments, which makes them invalid JSON.
  return { args: parseExact(text) as Record<string, unknown> | undefined, text };
}

/** The first values of a call on one line, safe to display. */
export function inOneLine({ args, text }: ToldCall): string {
  if (args === undefined) return visible(text ?? '');
  const values = Object.entries(args)
    .filter(([, value]) => typeof value !== 'object' || value instanceof Digits)
    .slice(0, 3)
    .map(([name, value]) => `${name} ${asText(value)}`);
  return visible(values.join(', '));
}

/** Labels of redacted values, such as `[credit_card]`. */
export function isRedacted(value: unknown): boolean {
  return typeof value === 'string' && /^\[[a-z_ ]+\]$/i.test(value);
}
