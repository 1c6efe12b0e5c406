import { z } from 'zod';

/** One problem with a request: where (`events.3.timestamp`), and how to fix it. */
export const ProblemDetail = z.object({ path: z.string(), message: z.string() });
export type ProblemDetail = z.infer<typeof ProblemDetail>;

/**
 * Body of every error response, in the format AgentLens clients read. Never contains secrets, rule limits or payloads.
 */
export const Problem = z.object({
  error: z.string(),
  /** Machine-readable code, independent of the text. */
  code: z.string().optional(),
  status: z.int(),
  details: z.array(ProblemDetail).optional(),
  hint: z.string().optional(),
  /** With status 412: the current version, as sent in `If-Match`. */
  currentVersion: z.int().optional(),
  /** Id of the request in the platform's logs. */
  requestId: z.string().optional(),
});
export type Problem = z.infer<typeof Problem>;

/** Maximum details, so that a small request cannot cause a large error response. */
const MAX_DETAILS = 20;

/** Converts zod issues to problem details with paths such as `events.0.timestamp`. */
export function detailsOf(error: z.core.$ZodError, prefix: readonly PropertyKey[] = []): ProblemDetail[] {
  return error.issues.slice(0, MAX_DETAILS).map((issue) => ({
    path: [...prefix, ...issue.path].map(String).join('.'),
    message: plainMessage(issue.message),
  }));
}

/**
 * Rejects a change that was meant for another version.
 * @param what noun for the message: `rule`, `limits`
 * @param current 0 if it does not exist yet
 */
export function otherVersion(
  what: string,
  wanted: number | undefined,
  current: number,
): { readonly ok: false; readonly problem: Problem } {
  return {
    ok: false,
    problem: {
      error: `The ${what} changed meanwhile`,
      status: 412,
      currentVersion: current,
      details: [{ path: 'If-Match', message: `names version ${wanted}; the current one is ${current}` }],
      hint: `Read the ${what} again, and repeat the change with If-Match: "${current}" if it still makes sense`,
    },
  };
}

const BOUNDS: Readonly<Record<string, string>> = {
  '>=': 'at least',
  '>': 'more than',
  '<=': 'at most',
  '<': 'less than',
};

/** Zod's names of types, in the terms of JSON. */
const TYPES: Readonly<Record<string, string>> = {
  record: 'a JSON object',
  object: 'a JSON object',
  array: 'a list',
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
};

/**
 * Says zod's own message about a type, a bound, a choice or a key as a rule about the field: "must be at least 1". What
 * a schema says itself stays as it is.
 */
export function plainMessage(message: string): string {
  return ofType(message) ?? ofBound(message) ?? ofChoice(message) ?? ofKeys(message) ?? message;
}

function ofType(message: string): string | undefined {
  const [, expected, received = ''] = /^Invalid input: expected (\w+), received (\w+)$/.exec(message) ?? [];
  if (expected === undefined) return undefined;
  const wanted = TYPES[expected] ?? expected;
  if (received === 'undefined') return `is required, give ${wanted}`;
  return expected === 'int' && received === 'number'
    ? `must be ${wanted}`
    : `must be ${wanted}, not ${received === 'boolean' ? 'a boolean' : (TYPES[received] ?? received)}`;
}

function ofBound(message: string): string | undefined {
  const [, verb, sign = '', limit, unit = ''] =
    /^Too (?:small|big): expected \w+ to (be|have) ([<>]=?)(-?[\d.e+]+)( \w+)?$/.exec(message) ?? [];
  if (verb === undefined) return undefined;
  if (verb === 'have' && sign === '>=' && limit === '1') return 'must not be empty';
  return `must ${verb} ${BOUNDS[sign] ?? sign} ${limit}${unit}`;
}

function ofChoice(message: string): string | undefined {
  const [, choices] = /^Invalid (?:option: expected one of|input: expected) ("?[^,]+)$/s.exec(message) ?? [];
  if (choices === undefined) return undefined;
  const values = choices.split('|');
  return values.length === 1 ? `must be ${values[0]}` : `must be ${values.slice(0, -1).join(', ')} or ${values.at(-1)}`;
}

function ofKeys(message: string): string | undefined {
  const [, several, keys] = /^Unrecognized key(s)?: (.+)$/s.exec(message) ?? [];
  if (keys === undefined) return undefined;
  return several === undefined ? `has the unknown key ${keys}, remove it` : `has the unknown keys ${keys}, remove them`;
}

/** Maximum nesting of a request body. */
const MAX_DEPTH = 16;

/** Reports text that Postgres cannot store (NUL, lone surrogates) anywhere in a request body, and excessive nesting. */
export function unstorableText(body: unknown): ProblemDetail[] {
  const details: ProblemDetail[] = [];
  walk(body, [], details);
  return details;
}

function walk(value: unknown, path: readonly string[], details: ProblemDetail[]): void {
  if (details.length >= MAX_DETAILS) return;
  if (typeof value === 'string') {
    if (!storable(value)) {
      details.push({ path: path.join('.'), message: 'must not contain NUL or a lone surrogate, remove it' });
    }
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  if (path.length >= MAX_DEPTH) {
    details.push({
      path: path.slice(0, 3).join('.'),
      message: `is nested deeper than ${MAX_DEPTH} levels, flatten it`,
    });
    return;
  }
  for (const [key, inner] of Object.entries(value)) {
    if (!storable(key)) {
      details.push({ path: path.join('.'), message: 'has a key with NUL or a lone surrogate, remove it' });
    } else walk(inner, [...path, key], details);
  }
}

function storable(text: string): boolean {
  return !text.includes('\u0000') && text.isWellFormed();
}
