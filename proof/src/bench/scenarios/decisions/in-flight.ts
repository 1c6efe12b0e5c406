import { Latencies } from '../../../harness/statistics.ts';
import { type Bench, serverCpu } from '../../scenario.ts';
import type { Stage } from '../../stage.ts';
import { UsageMeter } from '../../usage-meter.ts';
import { TEN } from './one-at-a-time.ts';
import { type Endpoints, type Way, waysOf } from './ways.ts';

const IN_FLIGHT = 16;
const WARM_UP = 500;

/** The rate of decisions with sixteen concurrent callers, and the cost of each. */
export async function inFlight(bench: Bench, stage: Stage, endpoints: Endpoints): Promise<void> {
  await stage.setRules(TEN);
  const ways = waysOf(stage, endpoints, IN_FLIGHT);
  for (const way of ways) await ask(way, (asked) => asked < WARM_UP);
  for (const way of ways.filter(({ decides }) => decides)) await measure(bench, stage, way);
  for (const way of ways) await way.close?.();
}

async function measure(bench: Bench, stage: Stage, way: Way): Promise<void> {
  bench.progress(`decisions: ${IN_FLIGHT} in flight over ${way.name}`);
  const until = performance.now() + bench.seconds * 1_000;
  const meter = new UsageMeter(stage.stack);
  const startedAt = performance.now();
  const { asked, refused, latencies } = await ask(way, () => performance.now() < until);
  const seconds = (performance.now() - startedAt) / 1_000;
  const { cpuMicros, rssBytes } = meter.stop();
  const figure = {
    ...{ scenario: 'decisions', variant: `${IN_FLIGHT} in flight over ${way.name}, 10 rules` },
    ...({ shape: 'distributed', unit: 'request', count: asked, seconds, rssBytes } as const),
    latency: { [way.name]: latencies.summary() },
    cpuMicros: Object.fromEntries(Object.entries(cpuMicros).map(([name, micros]) => [name, micros / asked])),
    checks: [{ name: 'answers other than ALLOW', expected: 0, actual: refused }],
  };
  const perCore = (micros: number) => Math.round(1e6 / micros).toLocaleString('en');
  const { ingest = 0, 'guardrail-evaluator': evaluator = 0 } = figure.cpuMicros;
  bench.found({
    ...figure,
    notes: {
      'decisions per second of one core, everything counted': perCore(serverCpu(figure)),
      'of one core that answers (ingest, evaluator)': perCore(ingest + evaluator),
    },
  });
}

async function ask(way: Way, goesOn: (asked: number) => boolean) {
  const latencies = new Latencies();
  let [asked, refused] = [0, 0];
  const caller = async () => {
    while (goesOn(asked)) {
      asked += 1;
      const sentAt = performance.now();
      const allowed = await way.ask(serial());
      latencies.record((performance.now() - sentAt) * 1_000);
      if (!allowed) refused += 1;
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, caller));
  return { asked, refused, latencies };
}

let last = 1_000_000;

/** A unique number, because asking about the same call again is a different, cheaper request. */
function serial(): number {
  last += 1;
  return last;
}
