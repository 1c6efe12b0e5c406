import { DETECTORS, type Detector, type DetectorName } from './detectors.ts';

export interface RedactOptions {
  /** Which of the built-in detectors; default all. */
  readonly detect?: readonly DetectorName[];
  /** Further detectors, asked first. Their patterns must be global. */
  readonly also?: readonly Detector[];
  /** What takes the place of a finding. Default `[email]`, `[jwt]`, ... */
  readonly replacement?: (name: string, found: string) => string;
}

export interface RedactionFinding {
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

export interface Redacted {
  readonly text: string;
  /** Where in the text that was given. */
  readonly findings: readonly RedactionFinding[];
}

/** Takes secrets and personal data out of a text, in time that grows with its length and nothing else. */
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

/** The same for every text inside of a value, names of members excepted; the value itself is not changed. */
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
  // Dates, maps and instances of classes hold no text that could be replaced without breaking them.
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

/** In order of place; where two overlap, the detector that was asked first has it. */
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
  // Findings of one detector do not overlap, so only those of stronger ones have to be looked at.
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

/** Index of the first finding that begins at or after `start`. */
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
