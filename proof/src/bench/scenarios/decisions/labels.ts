import { Pool } from 'undici';
import type { HarnessRule } from '../../../harness/stack.ts';
import type { Bench } from '../../scenario.ts';
import type { Stage } from '../../stage.ts';
import { askInTurn, TEN } from './one-at-a-time.ts';
import type { Way } from './ways.ts';

const MAX_MORE_MS = 0.2;
/** Calls of the tool `source` label their run tree, and calls of the tool `sink` are blocked while the label stands. */
const FLOW: HarnessRule = {
  ...{ name: 'no sink after a source', conditionType: 'data_flow', selector: { tools: ['sink'] } },
  ...{ conditionConfig: { after: [{ tools: ['source'] }], label: 'bench', grade: 'possible' } },
  ...{ actionType: 'block', actionConfig: {}, cooldownMinutes: 0 },
};

/** What setting and reading labels adds to a decision by the evaluator. */
export async function labelled(bench: Bench, stage: Stage, askingUrl: string): Promise<void> {
  bench.progress('decisions: labels of run trees');
  await stage.setRules([...TEN, FLOW]);
  const ways = ['plain', 'sink', 'source'].map((tool) => callsOf(tool, askingUrl, stage.stack.key));
  const { latency, asked, unexpected, seconds } = await askInTurn(stage, ways, bench.seconds / ways.length);
  const more = (tool: string) => (latency[tool]?.p50 ?? Number.NaN) - (latency.plain?.p50 ?? Number.NaN);
  bench.found({
    ...{ scenario: 'decisions', variant: 'labels of run trees, evaluator decides', shape: 'distributed' },
    ...{ unit: 'process', count: asked, seconds, cpuMicros: {}, rssBytes: {}, latency },
    checks: [{ name: 'answers other than ALLOW', expected: 0, actual: unexpected }],
    notes: {
      'sink - plain, p50': `${more('sink').toFixed(2)} ms`,
      'source - plain, p50': `${more('source').toFixed(2)} ms`,
      [`at most ${MAX_MORE_MS} ms more, p50`]: Math.max(more('sink'), more('source')) <= MAX_MORE_MS ? 'met' : 'missed',
    },
  });
}

/** Calls of one tool, in runs of its own, so that no label stands in the runs of the sinks. */
function callsOf(tool: string, url: string, key: string): Way {
  const pool = new Pool(url, { connections: 1 });
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  return {
    ...{ name: tool, decides: true },
    async ask(serial) {
      const runId = `labels-${process.pid}-${tool}-${Math.floor(serial / 100)}`;
      const body = JSON.stringify({
        ...{ phase: 'tool.before', agentId: 'bench-agent', tool: { name: tool }, args: { query: 'weather in Bern' } },
        ...{ tags: {}, callId: `c-${serial}` },
      });
      const answer = await pool.request({ method: 'POST', path: `/v1/runs/${runId}/evaluate`, headers, body });
      const { verdict } = (await answer.body.json()) as { readonly verdict?: string };
      return answer.statusCode === 200 && verdict === 'ALLOW';
    },
    close: () => pool.close(),
  };
}
