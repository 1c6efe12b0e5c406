import { proportionalBytesOf, readOrGone, spentMicros, threadsOf } from './process-usage.ts';

/** More than that end in a row only where processes come and go faster than they can be read. */
const MOST_LOOKS = 100;

/** By process of a family: the CPU microseconds of its own and of the children it has seen end. */
export type Look = ReadonlyMap<number, number>;

/**
 * What a process and all that it started have used since it started, in CPU microseconds, each counted once: Postgres
 * works in child processes, some of which last for one query.
 */
export function familyMicros(pid: number): number {
  return countedOnce(() => lookAt(pid));
}

/** The memory of a process and of all it started; what they share is counted once. */
export function familyBytes(pid: number): number {
  return familyOf(pid).reduce((bytes, one) => bytes + proportionalBytesOf(one), 0);
}

/** Processes that this one started and that still run, whichever of its threads did it. */
export function childrenOf(pid: number): number[] {
  return threadsOf(pid).flatMap((thread) =>
    (readOrGone(`/proc/${pid}/task/${thread}/children`) ?? '').trim().split(' ').filter(Boolean).map(Number),
  );
}

/**
 * From when it ends and is waited for, a child counts with its parent. One that does so after the parent was looked at
 * and before it was itself would be in neither; and while one ends, the kernel may leave others off the list. So only a
 * look counts that saw everybody whom the look before it saw.
 */
export function countedOnce(look: () => Look): number {
  let before = look();
  for (let looks = 1; looks < MOST_LOOKS; looks++) {
    const now = look();
    if ([...before.keys()].every((pid) => now.has(pid))) return [...now.values()].reduce((sum, one) => sum + one, 0);
    before = now;
  }
  throw new Error(`Of a family of processes (now ${[...before.keys()].join(', ')}) one ended at every look.`);
}

function lookAt(pid: number): Look {
  const look = new Map<number, number>();
  for (const one of familyOf(pid)) {
    const spent = spentMicros(one);
    if (spent !== undefined) look.set(one, spent);
  }
  return look;
}

function familyOf(pid: number): number[] {
  return [pid, ...childrenOf(pid).flatMap(familyOf)];
}
