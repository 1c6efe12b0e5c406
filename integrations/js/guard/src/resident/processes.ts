import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { isSecretName } from '@agentlens/guardrails/detectors';

const SHELLS = /^-?(?:sh|bash|dash|zsh|ksh|fish|ash|busybox|cmd\.exe|powershell\.exe|pwsh)$/;
const MAX_STEPS = 12;

interface ProcessInfo {
  readonly parent: number;
  readonly name: string;
  /** Distinguishes a process from a later one with the same id. */
  readonly startedAt: string;
}

/** A host process that is watched until it ends. */
export interface WatchedProcess {
  readonly pid: number;
  readonly startedAt: string;
}

/** The first process above a hook that is no shell. */
export function hostProcess(hookParent: number): WatchedProcess | undefined {
  let pid = hookParent;
  for (let step = 0; step < MAX_STEPS && pid > 1; step++) {
    const info = processInfo(pid);
    if (info === undefined) return undefined;
    if (!SHELLS.test(info.name)) return { pid, startedAt: info.startedAt };
    pid = info.parent;
  }
  return undefined;
}

const MIN_VALUE_CHARS = 8;

/**
 * Values of secret variables in the environment of a process, read for one call and kept nowhere. Only Linux shows the
 * environment of a process to its user as a file.
 */
export function secretEnvironment(pid: number | undefined): string[] {
  if (pid === undefined || process.platform !== 'linux') return [];
  let environment: string;
  try {
    environment = readFileSync(`/proc/${pid}/environ`, 'utf8');
  } catch {
    // The process has ended, or is another user's.
    return [];
  }
  return environment.split('\0').flatMap((entry) => {
    const at = entry.indexOf('=');
    const value = entry.slice(at + 1);
    return at > 0 && value.length >= MIN_VALUE_CHARS && isSecretName(entry.slice(0, at)) ? [value] : [];
  });
}

export function isAlive({ pid, startedAt }: WatchedProcess): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  if (process.platform !== 'linux') return true;
  const info = processInfo(pid);
  return info !== undefined && info.startedAt === startedAt;
}

function processInfo(pid: number): ProcessInfo | undefined {
  try {
    if (process.platform === 'linux') return fromProc(readFileSync(`/proc/${pid}/stat`, 'utf8'));
    if (process.platform === 'win32') return undefined;
    const line = execFileSync('ps', ['-o', 'ppid=,comm=', '-p', String(pid)], { encoding: 'utf8', timeout: 2_000 });
    const [, parent = '0', name = ''] = /^\s*(\d+)\s+(.*?)\s*$/.exec(line) ?? [];
    return { parent: Number(parent), name: name.slice(name.lastIndexOf('/') + 1), startedAt: '' };
  } catch {
    // The process has ended.
    return undefined;
  }
}

/** A zombie counts as ended. */
function fromProc(stat: string): ProcessInfo | undefined {
  const open = stat.indexOf('(');
  const close = stat.lastIndexOf(')');
  const fields = stat.slice(close + 2).split(' ');
  if (fields[0] === 'Z') return undefined;
  return { name: stat.slice(open + 1, close), parent: Number(fields[1]), startedAt: fields[19] ?? '' };
}
