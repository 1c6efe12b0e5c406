/** A number that JavaScript would write differently, with its original digits: 9007199254740993, 1e400, 1.50. */
export class Digits {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }

  /** Keeps the digits in JSON. */
  toJSON(): unknown {
    return (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(this.text);
  }
}

type Reviver = (this: unknown, key: string, value: unknown, context?: { readonly source?: string }) => unknown;

/** Parses JSON and keeps numbers as written. @returns undefined if the text is not JSON or the browser rounds numbers */
export function parseExact(text: string): unknown {
  if (!('rawJSON' in JSON)) return undefined;
  const keepDigits: Reviver = (_key, value, context) =>
    typeof value === 'number' && context?.source !== undefined && context.source !== String(value)
      ? new Digits(context.source)
      : value;
  try {
    return JSON.parse(text, keepDigits) as unknown;
  } catch {
    // Truncated or nested too deeply: the caller shows the text.
    return undefined;
  }
}
