import { Pool } from 'undici';
import type { HarnessRule } from '../../../harness/stack.ts';
import { Latencies } from '../../../harness/statistics.ts';
import type { Bench } from '../../scenario.ts';
import type { Stage } from '../../stage.ts';
import { UsageMeter } from '../../usage-meter.ts';
import { TEN } from './one-at-a-time.ts';

const LOUD_CALLERS = 4;
const WARM_UP = 200;
/** Limit for the medians. Each request of the other tenant may use all of its allowed steps before this one runs. */
const MAX_SLOWDOWN_FACTOR = 100;

const dear = (n: number, conditionType: string, conditionConfig: object): HarnessRule => ({
  ...{ name: `dear ${n}`, actionType: 'block', actionConfig: {}, cooldownMinutes: 0 },
  ...{ conditionType, conditionConfig: conditionConfig as HarnessRule['conditionConfig'] },
});
const DEAR = [
  dear(1, 'expression', { expression: 'args.a.all(x, x != "a") && args.b.exists(x, x == "a")' }),
  dear(2, 'expression', { expression: 'args.a.exists(x, x == "none")' }),
  dear(3, 'tool_argument', { operator: 'regex', value: '[\\p{L}]{1,400}[0-9]{9}' }),
];
const names = (prefix: string) => Array.from({ length: 10_000 }, (_, at) => `${prefix}-${at}`);
const DEAR_ARGS = { a: names('a'), b: names('b'), text: 'é'.repeat(50_000) };
const CHEAP_ARGS = { a: ['one'], b: ['two'], text: 'weather in Bern' };

/** How long one tenant waits for its decisions while another sends the most expensive allowed requests. */
export async function neighbours(bench: Bench, stage: Stage): Promise<void> {
  bench.progress('decisions: beside the most expensive requests of another tenant');
  await stage.setRules([...TEN, ...DEAR]);
  const [loudKey = ''] = await stage.tenantsWithRules(1);
  const quiet = caller(stage, stage.stack.key, CHEAP_ARGS);
  const loud = caller(stage, loudKey, DEAR_ARGS);
  for (let i = 0; i < WARM_UP; i++) await quiet.ask();
  const meter = new UsageMeter(stage.stack);
  const startedAt = performance.now();
  const alone = await measure(quiet, bench.seconds);
  let isOver = false;
  const noise = Array.from({ length: LOUD_CALLERS }, async () => {
    while (!isOver) await loud.ask();
  });
  const beside = await measure(quiet, bench.seconds);
  isOver = true;
  await Promise.all(noise);
  const seconds = (performance.now() - startedAt) / 1_000;
  const { cpuMicros, rssBytes } = meter.stop();
  await Promise.all([quiet.close(), loud.close()]);
  const count = alone.asked + beside.asked;
  const latency = { alone: alone.latencies.summary(), beside: beside.latencies.summary() };
  const times = (at: 'p50' | 'p99') => latency.beside[at] / latency.alone[at];
  bench.found({
    ...{ scenario: 'decisions', variant: 'beside the most expensive requests of another tenant' },
    ...({ shape: 'distributed', unit: 'request', count, seconds, latency, rssBytes } as const),
    cpuMicros: Object.fromEntries(Object.entries(cpuMicros).map(([name, micros]) => [name, micros / count])),
    checks: [
      { name: 'answers other than ALLOW', expected: 0, actual: alone.refused + beside.refused },
      {
        name: `median more than ${MAX_SLOWDOWN_FACTOR} times that alone`,
        expected: 0,
        actual: +(times('p50') > MAX_SLOWDOWN_FACTOR),
      },
    ],
    notes: {
      'beside : alone, p50': times('p50').toFixed(1),
      'beside : alone, p99': times('p99').toFixed(1),
      'requests of the other tenant': loud.asked(),
    },
  });
}

interface Caller {
  /** Returns true if the call is allowed. */
  ask(): Promise<boolean>;
  asked(): number;
  close(): Promise<void>;
}

export function caller({ stack }: Stage, key: string, args: object): Caller {
  const pool = new Pool(stack.ingestUrl, { connections: LOUD_CALLERS });
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const question = { phase: 'tool.before', agentId: 'bench-agent', tool: { name: 'search', tags: [] }, args };
  let asked = 0;
  return {
    async ask() {
      asked += 1;
      const path = `/v1/runs/neighbour-${process.pid}-${Math.floor(asked / 100)}/evaluate`;
      const body = JSON.stringify({ ...question, callId: `n-${asked}` });
      const answer = await pool.request({ method: 'POST', path, headers, body });
      const { verdict } = (await answer.body.json()) as { readonly verdict?: string };
      return answer.statusCode === 200 && verdict === 'ALLOW';
    },
    asked: () => asked,
    close: () => pool.close(),
  };
}

export async function measure(of: Caller, seconds: number) {
  const latencies = new Latencies();
  const until = performance.now() + seconds * 1_000;
  let [asked, refused] = [0, 0];
  while (performance.now() < until) {
    const sentAt = performance.now();
    const allowed = await of.ask();
    latencies.record((performance.now() - sentAt) * 1_000);
    asked += 1;
    if (!allowed) refused += 1;
  }
  return { asked, refused, latencies };
}
