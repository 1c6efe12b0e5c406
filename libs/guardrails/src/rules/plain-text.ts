import type { ProblemDetail } from '@agentlens/contracts';

/** Maximum nesting of a request body. */
const MAX_DEPTH = 16;

/** Reports text that Postgres cannot store (NUL, lone surrogates) anywhere in a request body, and excessive nesting. */
export function unstorableText(body: unknown): ProblemDetail[] {
  const details: ProblemDetail[] = [];
  walk(body, [], details);
  return details;
}

function walk(value: unknown, path: readonly string[], details: ProblemDetail[]): void {
  if (details.length >= 20) return;
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
