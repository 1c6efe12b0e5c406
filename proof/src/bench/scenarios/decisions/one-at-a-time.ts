import type { HarnessRule } from '../../../harness/stack.ts';
import { Latencies } from '../../../harness/statistics.ts';
import type { Bench } from '../../scenario.ts';
import type { Stage } from '../../stage.ts';
import { UsageMeter } from '../../usage-meter.ts';
import { type Endpoints, EVALUATOR_WAY, OPA_WAY, type Way, waysOf } from './ways.ts';

const WARM_UP = 300;

interface Variant {
  readonly name: string;
  readonly rules: readonly HarnessRule[];
  /** Number of further rules, for agents that never ask. */
  readonly absent?: number;
}

/** A rule about another tool than the one that is called: evaluated but never matched. */
const stateless = (n: number): HarnessRule => ({
  ...{ name: `no tool ${n}`, actionType: 'block', actionConfig: {}, cooldownMinutes: 0 },
  ...{ conditionType: 'tool_name', conditionConfig: { operator: 'contains', value: `forbidden-${n}` } },
});
/** A rule that needs the calls of the run. */
export const stateful: HarnessRule = {
  ...{ name: 'calls of a run', actionType: 'block', actionConfig: {}, cooldownMinutes: 0 },
  ...{ conditionType: 'max_calls', conditionConfig: { tools: ['*'], max: 1_000_000 } },
};
export const TEN = Array.from({ length: 10 }, (_, n) => stateless(n));

const VARIANTS: readonly Variant[] = [
  { name: 'no rules', rules: [] },
  { name: '10 rules', rules: TEN },
  { name: '10 rules + 990 others', rules: TEN, absent: 990 },
  { name: '10 rules, one with the calls of the run', rules: [...TEN.slice(1), stateful] },
];

/** One request at a time over HTTP and over NATS, compared with a handler that does nothing. */
export async function withSchemaLock(bench: Bench, stage: Stage, endpoints: Endpoints): Promise<void> {
  for (const variant of VARIANTS) await measure(bench, stage, variant, endpoints);
}

/** The same in one process with ten rules, also compared with OPA if it is installed. */
export async function inOneProcess(bench: Bench, stage: Stage, endpoints: Endpoints): Promise<void> {
  await measure(bench, stage, { name: '10 rules', rules: TEN }, endpoints);
}

async function measure(bench: Bench, stage: Stage, variant: Variant, endpoints: Endpoints) {
  bench.progress(`decisions: ${variant.name}`);
  const ids = await stage.setRules(variant.absent === undefined ? variant.rules : [...variant.rules, absentRule()]);
  if (variant.absent !== undefined) await stage.addAbsent(ids.at(-1) ?? '', variant.absent - 1);
  const ways = waysOf(stage, endpoints);
  const { latency, asked, unexpected, seconds, usage } = await askInTurn(stage, ways, bench.seconds / 4);
  const { cpuMicros, rssBytes } = usage;
  const ratio = (way: string, to: string, q: 'p50' | 'p99' = 'p50') => {
    const [one, other] = [latency[way], latency[to]];
    return one === undefined || other === undefined ? {} : { [`${way} : ${to}, ${q}`]: (one[q] / other[q]).toFixed(2) };
  };
  bench.found({
    ...{ scenario: 'decisions', variant: variant.name, shape: stage.stack.shape, unit: 'request', count: asked },
    ...{ seconds, latency, rssBytes },
    cpuMicros: Object.fromEntries(Object.entries(cpuMicros).map(([name, micros]) => [name, micros / asked])),
    checks: [{ name: 'answers other than ALLOW', expected: 0, actual: unexpected }],
    notes: {
      ...ratio('HTTP', 'empty HTTP'),
      ...ratio('NATS', 'empty NATS'),
      ...ratio('HTTP', EVALUATOR_WAY),
      ...ratio('HTTP', OPA_WAY),
      ...ratio('HTTP', OPA_WAY, 'p99'),
    },
  });
}

/**
 * Asks one question at a time. The ways take turns, so that other load on the machine affects all of them equally.
 *
 * @param secondsEach duration for each way
 */
export async function askInTurn({ stack }: Stage, ways: readonly Way[], secondsEach: number) {
  for (const way of ways) for (let i = 0; i < WARM_UP; i++) await way.ask(i);
  const meter = new UsageMeter(stack);
  const startedAt = performance.now();
  const found = new Map(ways.map(({ name }) => [name, new Latencies()]));
  let [asked, unexpected] = [0, 0];
  while (performance.now() - startedAt < secondsEach * 1000 * ways.length) {
    for (const way of ways) {
      const sentAt = performance.now();
      const allowed = await way.ask(WARM_UP + asked);
      found.get(way.name)?.record((performance.now() - sentAt) * 1000);
      if (way.decides) asked += 1;
      if (!allowed) unexpected += 1;
    }
  }
  const seconds = (performance.now() - startedAt) / 1000;
  const usage = meter.stop();
  for (const way of ways) await way.close?.();
  const latency = Object.fromEntries([...found].map(([name, latencies]) => [name, latencies.summary()]));
  return { latency, asked, unexpected, seconds, usage };
}

function absentRule(): HarnessRule {
  return { ...stateless(0), name: 'of an absent agent', agentId: 'absent-0' };
}
