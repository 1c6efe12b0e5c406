/** A number in the digits it was written in, where JavaScript would write others: 9007199254740993, 1e400, 1.50. */
export class Digits {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }

  /** JSON of it has the digits, too. */
  toJSON(): unknown {
    return (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(this.text);
  }
}

type Reviver = (this: unknown, key: string, value: unknown, context?: { readonly source?: string }) => unknown;

/** @returns what JSON text says, with every number as written; undefined: it is no JSON, or this browser rounds numbers */
export function parseExact(text: string): unknown {
  if (!('rawJSON' in JSON)) return undefined;
  const keepDigits: Reviver = (_key, value, context) =>
    typeof value === 'number' && context?.source !== undefined && context.source !== String(value)
      ? new Digits(context.source)
      : value;
  try {
    return JSON.parse(text, keepDigits) as unknown;
  } catch {
    // It is cut, or nested too deep to be laid out: the caller shows the text itself.
    return undefined;
  }
}
