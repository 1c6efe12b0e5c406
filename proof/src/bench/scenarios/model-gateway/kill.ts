import { Agent, request } from 'undici';
import { Latencies } from '../../../harness/statistics.ts';
import { monotonicMs, until } from '../../../harness/time.ts';
import type { Bench } from '../../scenario.ts';
import type { Stage } from '../../stage.ts';
import type { Target } from './peers.ts';

const STREAMS = 100;
const WAIT_MS = 30_000;

/** Opens many streams of one agent, kills the agent, and times the last byte of the provider in each. */
export async function measureKill(bench: Bench, { stack }: Stage, target: Target, agentId: string): Promise<void> {
  bench.progress(`model-gateway: a kill of ${STREAMS} open streams`);
  const dispatcher = new Agent({ connections: STREAMS, bodyTimeout: WAIT_MS });
  const lastAtMs: number[] = [];
  const texts: string[] = [];
  let opened = 0;
  const open = async (at: number) => {
    const answer = await request(target.url, {
      ...{ method: 'POST', dispatcher },
      headers: { 'content-type': 'application/json', ...target.headers },
      body: JSON.stringify({ model: 'endless', stream: true, messages: [{ role: 'user', content: `Go on ${at}` }] }),
    });
    let isFirst = true;
    for await (const part of answer.body) {
      const text = String(part);
      if (text.includes('"word "')) lastAtMs[at] = monotonicMs();
      if (isFirst) opened += 1;
      isFirst = false;
      texts[at] = text;
    }
  };
  try {
    const streams = Promise.all(Array.from({ length: STREAMS }, (_, at) => open(at)));
    await until(`${STREAMS} streams to be open`, async () => (opened === STREAMS ? true : undefined), WAIT_MS);
    const killedAtMs = monotonicMs();
    const killed = await request(`${stack.queryUrl}/api/control`, {
      method: 'POST',
      headers: { authorization: `Bearer ${stack.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ scope: 'agent', scopeId: agentId, state: 'killed', reason: 'bench' }),
    });
    await killed.body.dump();
    const answeredMs = monotonicMs() - killedAtMs;
    await streams;
    const last = new Latencies();
    for (const atMs of lastAtMs) last.record(Math.max(0, atMs - killedAtMs) * 1_000);
    bench.found({
      ...{ scenario: 'model-gateway', variant: 'a kill of open streams', shape: 'distributed', unit: 'request' },
      ...{ count: STREAMS, seconds: 0, cpuMicros: {}, rssBytes: {} },
      latency: { 'kill to last byte of the provider': last.summary() },
      notes: { 'kill answered after': `${answeredMs.toFixed(0)} ms` },
      checks: [
        { name: 'kill accepted', expected: 1, actual: killed.statusCode < 300 ? 1 : 0 },
        {
          name: 'streams with a reason',
          expected: STREAMS,
          actual: texts.filter((text) => text.includes('bench')).length,
        },
      ],
    });
  } finally {
    await dispatcher.close();
  }
}
