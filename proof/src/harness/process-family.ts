import { proportionalBytesOf, readOrGone, spentMicros, threadsOf } from './process-usage.ts';

/** More exits in a row happen only if processes come and go faster than they can be read. */
const MAX_POLLS = 100;

/** CPU microseconds by process of a family, each including its own waited-for children. */
export type Look = ReadonlyMap<number, number>;

/**
 * CPU microseconds that a process and its descendants have used, each counted once. Postgres works in child processes,
 * some of which last for a single query.
 */
export function familyMicros(pid: number): number {
  return countedOnce(() => lookAt(pid));
}

/** Memory of a process and its descendants, with shared memory counted once. */
export function familyBytes(pid: number): number {
  return familyOf(pid).reduce((bytes, one) => bytes + proportionalBytesOf(one), 0);
}

/** Running child processes, regardless of the thread that started them. */
export function childrenOf(pid: number): number[] {
  return threadsOf(pid).flatMap((thread) =>
    (readOrGone(`/proc/${pid}/task/${thread}/children`) ?? '').trim().split(' ').filter(Boolean).map(Number),
  );
}

/**
 * A child counts with its parent after it exited and was waited for. If that happens between reading the parent and
 * reading the child, the child is in neither; and while one exits, the kernel may omit others from the list. So only a
 * reading counts that contains every process of the previous one.
 */
export function countedOnce(look: () => Look): number {
  let before = look();
  for (let looks = 1; looks < MAX_POLLS; looks++) {
    const now = look();
    if ([...before.keys()].every((pid) => now.has(pid))) return [...now.values()].reduce((sum, one) => sum + one, 0);
    before = now;
  }
  throw new Error(`Of a family of processes (now ${[...before.keys()].join(', ')}) one exited at every reading.`);
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
