import { readdirSync, readFileSync } from 'node:fs';

/** What a process has used since it started. CPU in microseconds, memory in bytes. */
export interface ProcessUsage {
  readonly cpuMicros: number;
  readonly rssBytes: number;
  readonly openFiles: number;
}

// The kernel's USER_HZ, which is 100 on every Linux that Node supports.
const TICKS_PER_SECOND = 100;
const MICROS_PER_TICK = 1_000_000 / TICKS_PER_SECOND;

/** Reads /proc. Zero for a process that has exited. */
export function usageOf(pid: number): ProcessUsage {
  return { cpuMicros: spentMicros(pid) ?? 0, rssBytes: residentBytes(pid), openFiles: openFilesOf(pid) };
}

/** Includes children that have exited and were waited for. Undefined if the process itself has exited. */
export function spentMicros(pid: number): number | undefined {
  const fields = statFields(pid);
  if (fields === undefined) return undefined;
  // utime, stime, and both of the children.
  return fields.slice(11, 15).reduce((ticks, field) => ticks + Number(field), 0) * MICROS_PER_TICK;
}

function statFields(pid: number): string[] | undefined {
  const text = readOrGone(`/proc/${pid}/stat`);
  // The second field is the program's name in parentheses and may contain spaces.
  return text?.slice(text.lastIndexOf(')') + 2).split(' ');
}

function residentBytes(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB/m.exec(readOrGone(`/proc/${pid}/status`) ?? '')?.[1];
  return Number(kilobytes ?? 0) * 1024;
}

/** Counts shared memory once. Slower to read, and needs permission. */
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

/** Returns undefined if the process exits between two reads. */
export function readOrGone(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ESRCH' || code === 'EACCES') return undefined;
    throw error;
  }
}
