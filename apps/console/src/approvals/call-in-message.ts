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
  try {
    return { args: JSON.parse(text) as Record<string, unknown>, text };
  } catch {
    // Long arguments are cut in a message.
    return { args: undefined, text };
  }
}

/** The first values of a call, for one line. */
export function inOneLine({ args, text }: ToldCall): string {
  if (args === undefined) return text ?? '';
  return Object.entries(args)
    .filter(([, value]) => typeof value !== 'object')
    .slice(0, 3)
    .map(([name, value]) => `${name} ${String(value)}`)
    .join(', ');
}

/** What the platform hid before it stored anything: `[credit_card]`. */
export function isRedacted(value: unknown): boolean {
  return typeof value === 'string' && /^\[[a-z_ ]+\]$/i.test(value);
}
