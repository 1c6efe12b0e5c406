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

/** Reads /proc; nothing of a process that has ended. */
export function usageOf(pid: number): ProcessUsage {
  return { cpuMicros: spentMicros(pid) ?? 0, rssBytes: residentBytes(pid), openFiles: openFilesOf(pid) };
}

/** With that of children that have ended and were waited for; undefined of a process that has itself. */
export function spentMicros(pid: number): number | undefined {
  const fields = statFields(pid);
  if (fields === undefined) return undefined;
  // utime, stime, and both of the children.
  return fields.slice(11, 15).reduce((ticks, field) => ticks + Number(field), 0) * MICROS_PER_TICK;
}

function statFields(pid: number): string[] | undefined {
  const text = readOrGone(`/proc/${pid}/stat`);
  // The second field is the program's name in brackets and may contain spaces.
  return text?.slice(text.lastIndexOf(')') + 2).split(' ');
}

function residentBytes(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB/m.exec(readOrGone(`/proc/${pid}/status`) ?? '')?.[1];
  return Number(kilobytes ?? 0) * 1024;
}

/** Memory that a family shares is counted once. Costs more to read, and needs the right to. */
export function proportionalBytesOf(pid: number): number {
  const kilobytes = /^Pss:\s+(\d+) kB/m.exec(readOrGone(`/proc/${pid}/smaps_rollup`) ?? '')?.[1];
  return kilobytes === undefined ? residentBytes(pid) : Number(kilobytes) * 1024;
}

function openFilesOf(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/fd`).length;
  } catch {
    return 0;
  }
}

export function threadsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
}

/** A process may end between two reads: then it has no usage any more. */
export function readOrGone(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ESRCH' || code === 'EACCES') return undefined;
    throw error;
  }
}
