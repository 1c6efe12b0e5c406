import { request } from 'undici';
import type { HarnessRule } from '../../../harness/stack.ts';
import { Latencies } from '../../../harness/statistics.ts';
import type { Bench } from '../../scenario.ts';
import type { Stage } from '../../stage.ts';

const ROUNDS_PER_SECOND = 20;
const DEADLINE_MS = 10_000;
/** Leaves the processors to the platform. */
const ASK_EVERY_MS = 2;
const MAX_P99_MS = 100;
const AGENT = 'rule-watcher';
const draftOf = (value: string): HarnessRule => ({
  ...{ name: 'changing', conditionType: 'tool_name', conditionConfig: { value } },
  ...{ actionType: 'block', actionConfig: {}, cooldownMinutes: 0 },
});

interface Seen {
  readonly ms: number;
  /** Answers by the rule before the change, after the change was answered. */
  readonly outdated: number;
}

/** The time from the answer to a changed rule until each of several gateways decides by it itself. */
export async function ruleChanges(bench: Bench, stage: Stage, gateways: readonly string[]): Promise<void> {
  bench.progress('decisions: rules that change');
  const { stack } = stage;
  const headers = { authorization: `Bearer ${stack.key}`, 'content-type': 'application/json' };
  const [ruleId = ''] = await stage.setRules([draftOf('other')]);
  const ask = async (url: string) => {
    const body = JSON.stringify({ phase: 'tool.before', agentId: AGENT, tool: { name: 'pay' }, args: {} });
    const answer = await request(`${url}/v1/runs/${AGENT}/evaluate`, { method: 'POST', headers, body });
    const { verdict } = (await answer.body.json()) as { readonly verdict: string };
    return { verdict, isDecidedThere: answer.headers['x-agentlens-decided-by'] === 'gateway' };
  };
  const decides = async (url: string, wanted: string): Promise<Seen> => {
    const since = performance.now();
    let outdated = 0;
    while (performance.now() - since < DEADLINE_MS) {
      const { verdict, isDecidedThere } = await ask(url);
      if (verdict !== wanted) outdated += 1;
      else if (isDecidedThere) return { ms: performance.now() - since, outdated };
      await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS));
    }
    throw new Error(`a gateway did not decide by a changed rule within ${DEADLINE_MS} ms`);
  };
  for (const url of gateways) await decides(url, 'ALLOW');
  const found = new Latencies();
  const rounds = Math.ceil(bench.seconds * ROUNDS_PER_SECOND);
  const startedAt = performance.now();
  let outdated = 0;
  for (let round = 0; round < rounds; round++) {
    const [value, verdict] = round % 2 === 0 ? ['pay', 'BLOCK'] : ['other', 'ALLOW'];
    const body = JSON.stringify(draftOf(value));
    const changed = await request(`${stack.queryUrl}/api/guardrails/${ruleId}`, { method: 'PUT', headers, body });
    await changed.body.dump();
    if (changed.statusCode !== 200) throw new Error(`changing a rule returned ${changed.statusCode}`);
    const seen = await Promise.all(gateways.map((url) => decides(url, verdict)));
    found.record(Math.max(...seen.map(({ ms }) => ms)) * 1_000);
    outdated += seen.reduce((sum, one) => sum + one.outdated, 0);
  }
  const latency = found.summary();
  bench.found({
    ...{ scenario: 'decisions', variant: `a changed rule, ${gateways.length} gateways`, shape: 'distributed' },
    ...{ unit: 'process', count: rounds, seconds: (performance.now() - startedAt) / 1_000 },
    ...{ cpuMicros: {}, rssBytes: {}, checks: [], latency: { 'changed to decided at every gateway': latency } },
    notes: {
      [`decided within ${MAX_P99_MS} ms, p99`]: latency.p99 <= MAX_P99_MS ? 'met' : 'missed',
      'answers by the rule before, after the change': outdated,
    },
  });
}
