import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { LatencySummary } from '../../../harness/latencies.ts';
import type { Bench } from '../../scenario.ts';

const HOT_PATH = fileURLToPath(new URL('../../../../../libs/sdk/bench/hot-path.mjs', import.meta.url));
const NS_PER_MS = 1e6;

interface Measured {
  readonly name: string;
  readonly samples: number;
  readonly ns: Omit<LatencySummary, 'count'>;
  readonly emptyNs: Omit<LatencySummary, 'count'>;
  readonly ratio: number;
}

/** What the SDK costs the agent's own process, without any server: hooks, the breaker, decisions among local rules. */
export async function inTheAgent(bench: Bench): Promise<void> {
  bench.progress('decisions: in the agent');
  const { stdout } = await promisify(execFile)(process.execPath, [HOT_PATH, '--json']);
  for (const { name, samples, ns, emptyNs, ratio } of JSON.parse(stdout) as Measured[]) {
    bench.found({
      ...{ scenario: 'decisions', variant: `in the agent, ${name}`, shape: 'distributed', unit: 'process' },
      ...{ count: samples, seconds: 0, cpuMicros: {}, rssBytes: {}, checks: [] },
      latency: { call: inMs(ns, samples), 'empty function': inMs(emptyNs, samples) },
      notes: { 'call : empty, p50': ratio.toFixed(1) },
    });
  }
}

function inMs({ p50, p95, p99, max }: Measured['ns'], count: number): LatencySummary {
  return { count, p50: p50 / NS_PER_MS, p95: p95 / NS_PER_MS, p99: p99 / NS_PER_MS, max: max / NS_PER_MS };
}
