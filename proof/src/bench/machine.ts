import { execFileSync } from 'node:child_process';
import { cpus, loadavg, release, totalmem } from 'node:os';

/** Where and on what figures were taken. */
export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGb: number;
  readonly kernel: string;
  readonly node: string;
  /** Runnable processes over the last minute before: above a few tenths, others were at work. */
  readonly loadBefore: number;
  readonly commit: string;
}

export function describeMachine(root: string): Machine {
  return {
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    memoryGb: Math.round(totalmem() / 1e9),
    kernel: release(),
    node: process.version,
    loadBefore: loadavg()[0] ?? 0,
    commit: commitOf(root),
  };
}

function commitOf(root: string): string {
  try {
    return execFileSync('git', ['describe', '--always', '--dirty'], { cwd: root, encoding: 'utf8' }).trim();
  } catch {
    return 'unknown';
  }
}
