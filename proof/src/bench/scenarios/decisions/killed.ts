import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { request } from 'undici';
import type { HarnessRule } from '../../../harness/stack.ts';
import { Latencies } from '../../../harness/statistics.ts';
import { monotonicMs } from '../../../harness/time.ts';
import type { Bench } from '../../scenario.ts';
import type { Stage } from '../../stage.ts';
import { stateful } from './one-at-a-time.ts';

const AGENT = fileURLToPath(new URL('../../../../../libs/sdk/bench/agent-in-a-loop.mjs', import.meta.url));
const ROUNDS_PER_SECOND = 10;
const WAIT_MS = 5_000;
const MAX_P99_MS = 100;

const VARIANTS: readonly { readonly name: string; readonly rules: readonly HarnessRule[] }[] = [
  { name: 'decides by itself', rules: [] },
  { name: 'asks about each call', rules: [stateful] },
];

interface Stopped {
  readonly stoppedAtMs: number;
  readonly calls: number;
  readonly afterTheStop: number;
}

/**
 * Times a real agent in a separate process from `POST /api/control` until it has acknowledged and its next call is
 * blocked.
 */
export async function killed(bench: Bench, stage: Stage): Promise<void> {
  for (const { name, rules } of VARIANTS) {
    bench.progress(`decisions: a kill, the agent ${name}`);
    await stage.setRules(rules);
    const { ingestUrl, key } = stage.stack;
    const agent = fork(AGENT, [ingestUrl, key, `looping-${rules.length}`]);
    try {
      await once(agent, 'message');
      await measure(bench, stage, agent, `a kill, the agent ${name}`);
    } finally {
      const exit = once(agent, 'exit');
      if (agent.connected) agent.disconnect();
      if (agent.exitCode === null) await exit;
    }
  }
}

async function measure(bench: Bench, stage: Stage, agent: ChildProcess, variant: string): Promise<void> {
  const rounds = Math.ceil(bench.seconds * ROUNDS_PER_SECOND);
  const [acknowledged, answered, blocked] = [new Latencies(), new Latencies(), new Latencies()];
  let [deaf, late] = [0, 0];
  for (let round = 0; round < rounds; round++) {
    agent.send({ round });
    const [{ running }] = (await once(agent, 'message')) as [{ readonly running: string }];
    const stopping = once(agent, 'message');
    const sentAtMs = monotonicMs();
    const receipt = await kill(stage, running);
    answered.record((monotonicMs() - sentAtMs) * 1_000);
    const [{ stoppedAtMs, afterTheStop }] = (await stopping) as [Stopped];
    blocked.record((stoppedAtMs - sentAtMs) * 1_000);
    if (receipt.slowestMs === null) deaf += 1;
    else acknowledged.record(receipt.slowestMs * 1_000);
    late += afterTheStop;
  }
  const next = blocked.summary();
  bench.found({
    ...{ scenario: 'decisions', variant, shape: 'distributed', unit: 'process', count: rounds },
    ...{ seconds: 0, cpuMicros: {}, rssBytes: {} },
    latency: {
      'kill to acknowledged (by the order)': acknowledged.summary(),
      'kill to answered, acknowledged': answered.summary(),
      'kill to next call blocked': next,
    },
    checks: [
      { name: 'kills that were not acknowledged', expected: 0, actual: deaf },
      { name: 'tool calls that began after the stop', expected: 0, actual: late },
    ],
    notes: { [`next call blocked within ${MAX_P99_MS} ms, p99`]: next.p99 <= MAX_P99_MS ? 'met' : 'missed' },
  });
}

async function kill({ stack }: Stage, runId: string): Promise<{ readonly slowestMs: number | null }> {
  const answer = await request(`${stack.queryUrl}/api/control`, {
    method: 'POST',
    headers: { authorization: `Bearer ${stack.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ scope: 'run', id: runId, state: 'killed', reason: 'bench', waitMs: WAIT_MS }),
  });
  if (answer.statusCode !== 200) throw new Error(`the kill returned ${answer.statusCode}`);
  return (await answer.body.json()) as { readonly slowestMs: number | null };
}
