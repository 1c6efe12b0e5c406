/** Deeper JSON is refused: recursive readers run out of stack. */
const MAX_DEPTH = 128;

export type StrictJson =
  | { readonly value: unknown; readonly problem?: undefined }
  | { readonly value?: undefined; readonly problem: string };

/**
 * Parses JSON that every reader understands alike. Refused: a key that is there twice, a number that a double cannot
 * hold (`1e999`, an integer that would lose digits), and nesting deeper than 128.
 */
export function parseStrict(text: string): StrictJson {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { problem: 'this is not JSON' };
  }
  const problem = problemOf(text);
  return problem === undefined ? { value } : { problem };
}

/** The text on one line for every reader: JSON allows line breaks between tokens, and exotic ones inside strings. */
export function onOneLine(json: string): string {
  return json
    .replace(/[\n\r]/g, ' ')
    .replace(/[\u007f-\u009f\u2028\u2029]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Of valid JSON. */
function problemOf(text: string): string | undefined {
  // The keys of each open object; undefined for an array.
  const open: (Set<string> | undefined)[] = [];
  let expectsKey = false;
  let at = 0;
  while (at < text.length) {
    const char = text[at] ?? '';
    const start = at;
    at++;
    if (char === '"') {
      at = endOfString(text, start);
      const keys = expectsKey ? open.at(-1) : undefined;
      expectsKey = false;
      if (keys === undefined) continue;
      const key = JSON.parse(text.slice(start, at)) as string;
      if (keys.has(key)) return `the key ${JSON.stringify(key.slice(0, 100))} is there twice`;
      keys.add(key);
    } else if (char === '{' || char === '[') {
      open.push(char === '{' ? new Set() : undefined);
      expectsKey = char === '{';
      if (open.length > MAX_DEPTH) return `it is nested deeper than ${MAX_DEPTH}`;
    } else if (char === '}' || char === ']') open.pop();
    else if (char === ',') expectsKey = open.at(-1) !== undefined;
    else if (char === '-' || (char >= '0' && char <= '9')) {
      while (at < text.length && /[\d.eE+-]/.test(text[at] ?? '')) at++;
      const number = text.slice(start, at);
      if (!isExact(number)) return `the number ${number.slice(0, 100)} would lose digits; send it as text`;
    }
  }
  return undefined;
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at + 1;
}

function isExact(number: string): boolean {
  const value = Number(number);
  if (!Number.isFinite(value)) return false;
  return !/^-?\d+$/.test(number) || Number.isSafeInteger(value) || BigInt(number) === BigInt(value);
}
