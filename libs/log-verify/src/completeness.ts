import { type Members, members, type StrictJson } from './strict-json.ts';

/** An entry whose leaf and payload are checked. */
export interface ShownEntry {
  readonly index: number;
  readonly id: StrictJson | undefined;
  readonly kind: StrictJson | undefined;
  /** Undefined if it is withheld. */
  readonly content: Members | undefined;
  /** Withheld because it is gone, not because this reader may not see it. */
  readonly isErased: boolean;
}

interface Gap {
  readonly index?: number;
  readonly problem: string;
}

const REMOVALS = ['erasure', 'retention'];
const MAX_NAMED = 20;

/**
 * What the bundle should contain and does not. Content may be gone only if an entry of an erasure or of retention names
 * its position. The sealer numbers the entries of a run from 1: a number that is missing was left out, unless a removal
 * covers positions where that entry can have been.
 */
export function findGaps(subject: Members, entries: readonly ShownEntry[]): Gap[] {
  const removed = readRemovedRanges(entries);
  const lost = entries
    .filter(({ index, isErased }) => isErased && !removed.some(({ first, last }) => first <= index && index <= last))
    .map(({ index }) => ({ index, problem: 'the content is missing, and no erasure or retention names it' }));
  const kind = subject.kind as keyof typeof ABOUT;
  const isAbout = ABOUT[kind];
  // An entry without content may be one of them, except for a decision, whose leaf has the id.
  if (!entries.some((entry) => isAbout(entry, subject.id)))
    return [...lost, { problem: `the bundle does not contain the ${kind} that it is about` }];
  if (kind !== 'run') return lost;
  // An entry without content can be any of the missing ones.
  const hidden = entries.flatMap(({ index, content }) =>
    content === undefined ? [{ first: index, last: index }] : [],
  );
  return [...lost, ...findMissingNumbers(subject, entries, [...removed, ...hidden])];
}

type IsAbout = (entry: ShownEntry, id: StrictJson | undefined) => boolean;

/** Whether an entry belongs to the subject, by the kind of the subject. */
const ABOUT = {
  run: ({ content }, id) => content === undefined || readMember(content, 'run', 'id') === id,
  decision: (entry, id) => entry.id === id,
  approval: ({ content }, id) =>
    content === undefined ||
    readMember(content, 'approval', 'approvalId') === id ||
    readMember(content, 'decision', 'approvalId') === id,
  order: ({ content }, id) =>
    content === undefined ||
    readMember(content, 'control', 'orderId') === id ||
    readMember(content, 'ack', 'directiveId') === id,
} satisfies Readonly<Record<string, IsAbout>>;

function readMember(content: Members, kind: string, name: string): StrictJson | undefined {
  const inner = content[kind];
  return inner === undefined ? undefined : members(inner, kind)[name];
}

interface Range {
  readonly first: number;
  readonly last: number;
}

function readRemovedRanges(entries: readonly ShownEntry[]): Range[] {
  return entries.flatMap(({ kind, content }) => {
    if (typeof kind !== 'string' || !REMOVALS.includes(kind) || content === undefined) return [];
    const { ranges, removed } = members(content[kind], kind);
    if (removed !== 'payload' || !Array.isArray(ranges)) return [];
    return ranges.flatMap((range) => {
      const [first, last] = Array.isArray(range) ? (range as readonly StrictJson[]) : [];
      return typeof first === 'number' && typeof last === 'number' ? [{ first, last }] : [];
    });
  });
}

function findMissingNumbers(subject: Members, entries: readonly ShownEntry[], removed: readonly Range[]): Gap[] {
  const findings: Gap[] = [];
  const missing: number[] = [];
  let before = { index: -1, number: 0 };
  for (const { index, kind, content } of entries) {
    // Supports the others; belongs to no run.
    if (content === undefined || (typeof kind === 'string' && REMOVALS.includes(kind))) continue;
    const run = members(content.run ?? {}, 'run');
    const number = run.entry;
    if (run.id !== subject.id) findings.push({ index, problem: 'the entry belongs to another run' });
    else if (typeof number !== 'number' || number <= before.number)
      findings.push({ index, problem: 'the number of the entry in its run is missing or was given twice' });
    else {
      const absent = number - before.number - 1;
      if (absent > countRemoved(removed, before.index + 1, index - 1))
        for (let one = before.number + 1; one < number && missing.length < MAX_NAMED; one++) missing.push(one);
      before = { index, number };
    }
  }
  if (missing.length > 0) findings.push({ problem: `entries of the run were left out: number ${missing.join(', ')}` });
  return findings;
}

/** Positions from `from` to `to` that removals cover. */
function countRemoved(removed: readonly Range[], from: number, to: number): number {
  const sorted = [...removed].sort((a, b) => a.first - b.first);
  let next = from;
  let count = 0;
  for (const { first, last } of sorted) {
    const start = Math.max(first, next);
    const end = Math.min(last, to);
    if (end < start) continue;
    count += end - start + 1;
    next = end + 1;
  }
  return count;
}
