import { execFileSync } from 'node:child_process';
import { cpus, loadavg, release, totalmem } from 'node:os';

const YARDSTICK_TRIES = 2_000;

/** The machine and commit of a measurement. */
export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGb: number;
  readonly kernel: string;
  readonly node: string;
  /** Speed of one core: microseconds to parse the JSON of 100 events, best of many tries. */
  readonly parseMicros: number;
  /** Load average of the minute before. Above a few tenths, other processes were running. */
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
    parseMicros: parseMicros(),
    loadBefore: loadavg()[0] ?? 0,
    commit: commitOf(root),
  };
}

/** Measures the speed of the machine. The best of many tries hardly depends on other load. */
function parseMicros(): number {
  const event = { sessionId: 'session', agentId: 'agent', severity: 'info', eventType: 'tool_response' };
  const payload = { toolName: 'search_documents', durationMs: 41, result: { hits: 12, source: 'knowledge-base' } };
  const text = JSON.stringify({ events: Array.from({ length: 100 }, (_, i) => ({ ...event, i, payload })) });
  let best = Number.POSITIVE_INFINITY;
  for (let i = 0; i < YARDSTICK_TRIES; i++) {
    const startedAt = performance.now();
    JSON.parse(text);
    best = Math.min(best, performance.now() - startedAt);
  }
  return Math.round(best * 1000);
}

function commitOf(root: string): string {
  try {
    return execFileSync('git', ['describe', '--always', '--dirty'], { cwd: root, encoding: 'utf8' }).trim();
  } catch {
    return 'unknown';
  }
}
