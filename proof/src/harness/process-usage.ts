import { readdirSync, readFileSync } from 'node:fs';

/** What a process has used since it started; CPU in microseconds, memory in bytes. */
export interface ProcessUsage {
  readonly cpuMicros: number;
  readonly rssBytes: number;
  readonly openFiles: number;
}

// The kernel's USER_HZ, 100 on every Linux that Node supports.
const TICKS_PER_SECOND = 100;
const MICROS_PER_TICK = 1_000_000 / TICKS_PER_SECOND;

/** Reads /proc; with `family` the children are counted too (Postgres works in child processes). */
export function usageOf(pid: number, family = false): ProcessUsage {
  const pids = family ? [pid, ...descendantsOf(pid)] : [pid];
  let ticks = 0;
  let rssBytes = 0;
  for (const one of pids) {
    const fields = statFields(one);
    if (!fields) continue;
    // utime, stime, and the time of children that have ended and were waited for.
    ticks += Number(fields[11]) + Number(fields[12]) + Number(fields[13]) + Number(fields[14]);
    rssBytes += family ? proportionalBytes(one) : residentBytes(one);
  }
  return { cpuMicros: ticks * MICROS_PER_TICK, rssBytes, openFiles: openFilesOf(pid) };
}

function statFields(pid: number): string[] | undefined {
  const text = read(`/proc/${pid}/stat`);
  // The second field is the program's name in brackets and may contain spaces.
  return text?.slice(text.lastIndexOf(')') + 2).split(' ');
}

function residentBytes(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB/m.exec(read(`/proc/${pid}/status`) ?? '')?.[1];
  return Number(kilobytes ?? 0) * 1024;
}

/** Memory that a family shares is counted once. Costs more to read, and needs the right to. */
function proportionalBytes(pid: number): number {
  const kilobytes = /^Pss:\s+(\d+) kB/m.exec(read(`/proc/${pid}/smaps_rollup`) ?? '')?.[1];
  return kilobytes === undefined ? residentBytes(pid) : Number(kilobytes) * 1024;
}

function openFilesOf(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/fd`).length;
  } catch {
    return 0;
  }
}

function descendantsOf(pid: number): number[] {
  return childrenOf(pid).flatMap((child) => [child, ...descendantsOf(child)]);
}

/** Processes that this one started and that still run, whichever of its threads did it. */
export function childrenOf(pid: number): number[] {
  return threadsOf(pid).flatMap((thread) =>
    (read(`/proc/${pid}/task/${thread}/children`) ?? '').trim().split(' ').filter(Boolean).map(Number),
  );
}

function threadsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
}

/** A process may end between two reads: then it has no usage any more. */
function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ESRCH' || code === 'EACCES') return undefined;
    throw error;
  }
}
