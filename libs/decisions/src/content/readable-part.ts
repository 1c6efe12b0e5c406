import type { UnreadContent } from '@agentlens/contracts';

/** Deeper values are neither judged nor stored. */
export const MAX_DEPTH = 32;

type Reason = UnreadContent['reason'];

export interface ReadablePart {
  readonly value: unknown;
  /** Why the value is incomplete; absent if it is complete. */
  readonly unread?: Reason;
}

/**
 * Returns the part of a parsed JSON value that rules can judge. Texts with NUL or lone surrogates are repaired to
 * U+FFFD. Values that are nested too deep, infinite, or named `__proto__` are left out, and so is everything after
 * `maxChars` characters of JSON. A value left out of a list, or a value by itself, becomes null. Returns the same
 * object if nothing has to change.
 */
export function readablePart(value: unknown, maxChars: number): ReadablePart {
  if (isReadable(value, 0) && JSON.stringify(value).length <= maxChars) return { value };
  return new Reading(maxChars).read(value);
}

/** The same for a value that is known to be small. */
export function readablePartOfSmall(value: unknown): ReadablePart {
  return isReadable(value, 0) ? { value } : new Reading(Number.POSITIVE_INFINITY).read(value);
}

function isReadable(value: unknown, depth: number): boolean {
  if (typeof value === 'string') return isReadableText(value);
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || value === null) return true;
  if (depth >= MAX_DEPTH) return false;
  if (Array.isArray(value)) return value.every((item) => isReadable(item, depth + 1));
  for (const key of Object.keys(value)) {
    if (key === '__proto__' || !isReadableText(key)) return false;
    if (!isReadable((value as Record<string, unknown>)[key], depth + 1)) return false;
  }
  return true;
}

function isReadableText(text: string): boolean {
  return !text.includes('\u0000') && text.isWellFormed();
}

/** Copies a value as far as it fits. */
class Reading {
  #left: number;
  #unread: Reason | undefined;

  constructor(maxChars: number) {
    this.#left = maxChars;
  }

  read(value: unknown): ReadablePart {
    const part = this.#part(value, 0);
    return this.#unread === undefined ? { value: part } : { value: part, unread: this.#unread };
  }

  #part(value: unknown, depth: number): unknown {
    if (typeof value === 'number' && !Number.isFinite(value)) return this.#leaveOut('unreadable');
    if (typeof value === 'string' && value.length > this.#left) return this.#leaveOut('too_large');
    if (typeof value !== 'object' || value === null) {
      const repaired = typeof value === 'string' ? mend(value) : value;
      return this.#takes(JSON.stringify(repaired).length) ? repaired : this.#leaveOut('too_large');
    }
    if (depth >= MAX_DEPTH) return this.#leaveOut('unreadable');
    if (!this.#takes(2)) return this.#leaveOut('too_large');
    return Array.isArray(value) ? this.#items(value, depth + 1) : this.#members(value, depth + 1);
  }

  #items(items: readonly unknown[], depth: number): unknown[] {
    const part: unknown[] = [];
    for (const item of items) {
      if (!this.#takes(1)) {
        this.#leaveOut('too_large');
        break;
      }
      part.push(this.#part(item, depth));
    }
    return part;
  }

  #members(record: object, depth: number): Record<string, unknown> {
    const part: Record<string, unknown> = {};
    // A repaired name must not replace a valid one.
    const isGood = (key: string) => isReadableText(key);
    const keys = Object.keys(record);
    for (const key of [...keys.filter(isGood), ...keys.filter((one) => !isGood(one))]) {
      const name = mend(key);
      if (name === '__proto__' || Object.hasOwn(part, name)) this.#leaveOut('unreadable');
      else if (this.#takes(JSON.stringify(name).length + 2)) {
        part[name] = this.#part((record as Record<string, unknown>)[key], depth);
      } else {
        this.#leaveOut('too_large');
        break;
      }
    }
    return part;
  }

  #takes(chars: number): boolean {
    if (chars > this.#left) return false;
    this.#left -= chars;
    return true;
  }

  #leaveOut(reason: Reason): null {
    this.#unread ??= reason;
    return null;
  }
}

function mend(text: string): string {
  return text.toWellFormed().replaceAll('\u0000', '\uFFFD');
}
