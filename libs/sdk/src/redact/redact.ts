import { DETECTORS, type Detector, type DetectorName } from './detectors.ts';

export interface RedactOptions {
  /** Built-in detectors to use; default all. */
  readonly detect?: readonly DetectorName[];
  /** Additional detectors, applied first. Their patterns must be global. */
  readonly also?: readonly Detector[];
  /** Replacement text of a finding. Default `[email]`, `[jwt]`, ... */
  readonly replacement?: (name: string, found: string) => string;
}

export interface RedactionFinding {
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

export interface Redacted {
  readonly text: string;
  /** Positions refer to the input text. */
  readonly findings: readonly RedactionFinding[];
}

/** Removes secrets and personal data from a text in linear time. */
export function redact(text: string, options: RedactOptions = {}): Redacted {
  const { replacement = (name: string) => `[${name}]` } = options;
  const findings = findAll(text, detectorsOf(options));
  let cleaned = '';
  let at = 0;
  for (const { name, start, end } of findings) {
    cleaned += text.slice(at, start) + replacement(name, text.slice(start, end));
    at = end;
  }
  return { text: cleaned + text.slice(at), findings };
}

/** Redacts every text inside a value except member names; the value itself is not changed. */
export function redactDeep<T>(value: T, options: RedactOptions = {}): T {
  return deep(value, options, new Map()) as T;
}

function deep(value: unknown, options: RedactOptions, copies: Map<object, unknown>): unknown {
  if (typeof value === 'string') return redact(value, options).text;
  if (typeof value !== 'object' || value === null) return value;
  const known = copies.get(value);
  if (known !== undefined) return known;
  if (Array.isArray(value)) {
    const list: unknown[] = [];
    copies.set(value, list);
    for (const item of value) list.push(deep(item, options, copies));
    return list;
  }
  // Dates, maps and class instances contain no text that could be replaced without breaking them.
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return value;
  const copy: Record<string, unknown> = {};
  copies.set(value, copy);
  for (const [key, member] of Object.entries(value)) {
    Object.defineProperty(copy, key, {
      value: deep(member, options, copies),
      enumerable: true,
      writable: true,
      configurable: true,
    });
  }
  return copy;
}

function detectorsOf({ detect, also = [] }: RedactOptions): readonly Detector[] {
  const names: readonly string[] | undefined = detect;
  return [...also, ...DETECTORS.filter(({ name }) => names?.includes(name) ?? true)];
}

/** Findings in order of position; if two overlap, the earlier detector wins. */
function findAll(text: string, detectors: readonly Detector[]): readonly RedactionFinding[] {
  const found: (RedactionFinding & { readonly rank: number })[] = [];
  detectors.forEach(({ name, pattern, confirm }, rank) => {
    for (const match of text.matchAll(pattern)) {
      if (match[0] === '' || (confirm !== undefined && !confirm(match[0]))) continue;
      found.push({ name, start: match.index, end: match.index + match[0].length, rank });
    }
  });
  const kept: RedactionFinding[] = [];
  const taken = found.sort((a, b) => a.rank - b.rank || a.start - b.start);
  // Findings of one detector do not overlap, so only those of earlier detectors need checking.
  const byPlace: RedactionFinding[] = [];
  for (const { name, start, end } of taken) if (!overlaps(byPlace, start, end)) insert(byPlace, { name, start, end });
  kept.push(...byPlace);
  return kept;
}

function overlaps(sorted: readonly RedactionFinding[], start: number, end: number): boolean {
  const at = placeOf(sorted, start);
  const before = sorted[at - 1];
  const after = sorted[at];
  return (before !== undefined && before.end > start) || (after !== undefined && after.start < end);
}

function insert(sorted: RedactionFinding[], finding: RedactionFinding): void {
  sorted.splice(placeOf(sorted, finding.start), 0, finding);
}

/** Index of the first finding that starts at or after `start`. */
function placeOf(sorted: readonly RedactionFinding[], start: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle]?.start ?? 0) < start) low = middle + 1;
    else high = middle;
  }
  return low;
}
