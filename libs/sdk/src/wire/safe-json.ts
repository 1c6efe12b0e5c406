/** Maximum nesting; deeper values are replaced. */
export const MAX_DEPTH_LEVELS = 30;

/**
 * JSON of any value an agent may hold, including cycles, big integers, throwing getters and unpaired surrogates. Valid
 * JSON values are unchanged. A big integer becomes a number, or its digits as text if a number cannot hold it.
 * Everything else is replaced by a text in square brackets.
 */
export function safeJson(value: unknown): string {
  try {
    const text = JSON.stringify(value);
    // Depth is bounded too: JSON.stringify accepts nesting that the server rejects.
    if (text !== undefined && !tooDeep(text)) return text;
    if (text === undefined) return 'null';
  } catch {
    // A cycle, a big integer or a getter that throws: copied below, piece by piece.
  }
  return JSON.stringify(plain(value, new Set(), 0)) ?? 'null';
}

/** UTF-8 length without encoding. */
export function utf8Bytes(text: string): number {
  let bytes = text.length;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit < 0x80) continue;
    // Each half of a surrogate pair counts two, four together.
    bytes += unit < 0x800 || (unit >= 0xd800 && unit <= 0xdfff) ? 1 : 2;
  }
  return bytes;
}

/** Truncates a text without splitting a surrogate pair. */
export function clip(text: string, most: number): string {
  if (text.length <= most) return text;
  const last = text.charCodeAt(most - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? most - 1 : most);
}

function tooDeep(text: string): boolean {
  let depth = 0;
  let quoted = false;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (quoted) {
      if (unit === 0x5c) index++;
      else if (unit === 0x22) quoted = false;
    } else if (unit === 0x22) quoted = true;
    else if (unit === 0x7b || unit === 0x5b) {
      if (++depth > MAX_DEPTH_LEVELS) return true;
    } else if (unit === 0x7d || unit === 0x5d) depth--;
  }
  return false;
}

function plain(value: unknown, above: Set<object>, depth: number): unknown {
  if (typeof value === 'bigint') return wholeNumber(value);
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Number || value instanceof String || value instanceof Boolean) return value.valueOf();
  if (value instanceof BigInt) return wholeNumber(BigInt(value.toString()));
  if (above.has(value)) return '[Circular]';
  if (depth >= MAX_DEPTH_LEVELS) return '[Too deep]';
  above.add(value);
  try {
    const own = attempt(() => (value as { readonly toJSON?: unknown }).toJSON);
    if (typeof own === 'function') return plainOwn(value, own, above, depth);
    if (Array.isArray(value)) return value.map((item) => plain(item, above, depth + 1));
    return plainObject(value, above, depth);
  } finally {
    above.delete(value);
  }
}

function wholeNumber(value: bigint): number | string {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value.toString();
}

function plainOwn(value: object, toJson: unknown, above: Set<object>, depth: number): unknown {
  const written = attempt(() => (toJson as () => unknown).call(value));
  return written === value ? plainObject(value, above, depth) : plain(written, above, depth + 1);
}

function plainObject(value: object, above: Set<object>, depth: number): Record<string, unknown> {
  const copy: Record<string, unknown> = Object.create(null);
  for (const key of Object.keys(value)) {
    copy[key] = plain(
      attempt(() => (value as Record<string, unknown>)[key]),
      above,
      depth + 1,
    );
  }
  return copy;
}

function attempt<T>(read: () => T): T | string {
  try {
    return read();
  } catch {
    return '[Unreadable]';
  }
}
