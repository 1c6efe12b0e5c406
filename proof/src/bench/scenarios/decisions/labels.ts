import { Pool } from 'undici';
import type { HarnessRule } from '../../../harness/stack.ts';
import { Latencies } from '../../../harness/statistics.ts';
import type { Bench } from '../../scenario.ts';
import type { Stage } from '../../stage.ts';
import { TEN } from './one-at-a-time.ts';

const WARM_UP = 300;
const MAX_MORE_MS = 0.2;
/** Calls of the tool `source` label their run tree, and calls of the tool `sink` are blocked while the label stands. */
const FLOW: HarnessRule = {
  ...{ name: 'no sink after a source', conditionType: 'data_flow', selector: { tools: ['sink'] } },
  ...{ conditionConfig: { after: [{ tools: ['source'] }], label: 'bench', grade: 'possible' } },
  ...{ actionType: 'block', actionConfig: {}, cooldownMinutes: 0 },
};
const TOOLS = ['plain', 'sink', 'source'] as const;

/** What setting and reading labels adds to a decision by the evaluator. The calls take turns. */
export async function labelled(bench: Bench, stage: Stage, askingUrl: string): Promise<void> {
  bench.progress('decisions: labels of run trees');
  await stage.setRules([...TEN, FLOW]);
  const pool = new Pool(askingUrl, { connections: 1 });
  const headers = { authorization: `Bearer ${stage.stack.key}`, 'content-type': 'application/json' };
  // A run of its own for each tool, so that no label stands in the run of the sinks.
  const ask = async (tool: (typeof TOOLS)[number], serial: number): Promise<boolean> => {
    const runId = `labels-${process.pid}-${tool}-${Math.floor(serial / 100)}`;
    const body = JSON.stringify({
      ...{ phase: 'tool.before', agentId: 'bench-agent', tool: { name: tool }, args: { query: 'weather in Bern' } },
      ...{ tags: {}, callId: `c-${serial}` },
    });
    const answer = await pool.request({ method: 'POST', path: `/v1/runs/${runId}/evaluate`, headers, body });
    const { verdict } = (await answer.body.json()) as { readonly verdict?: string };
    return answer.statusCode === 200 && verdict === 'ALLOW';
  };
  const found = new Map(TOOLS.map((tool) => [tool, new Latencies()]));
  for (let serial = 0; serial < WARM_UP; serial++) for (const tool of TOOLS) await ask(tool, serial);
  const startedAt = performance.now();
  let [rounds, unexpected] = [0, 0];
  while (performance.now() - startedAt < bench.seconds * 1_000) {
    for (const tool of TOOLS) {
      const sentAt = performance.now();
      const allowed = await ask(tool, WARM_UP + rounds);
      found.get(tool)?.record((performance.now() - sentAt) * 1_000);
      if (!allowed) unexpected += 1;
    }
    rounds += 1;
  }
  await pool.close();
  const latency = Object.fromEntries([...found].map(([tool, latencies]) => [tool, latencies.summary()]));
  const more = (tool: string) => (latency[tool]?.p50 ?? Number.NaN) - (latency.plain?.p50 ?? Number.NaN);
  bench.found({
    ...{ scenario: 'decisions', variant: 'labels of run trees, evaluator decides', shape: 'distributed' },
    ...{ unit: 'process', count: rounds * TOOLS.length, seconds: (performance.now() - startedAt) / 1_000 },
    ...{ cpuMicros: {}, rssBytes: {}, latency },
    checks: [{ name: 'answers other than ALLOW', expected: 0, actual: unexpected }],
    notes: {
      'sink - plain, p50': `${more('sink').toFixed(2)} ms`,
      'source - plain, p50': `${more('source').toFixed(2)} ms`,
      [`at most ${MAX_MORE_MS} ms more, p50`]: Math.max(more('sink'), more('source')) <= MAX_MORE_MS ? 'met' : 'missed',
    },
  });
}
