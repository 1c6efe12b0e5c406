import { generateLoad } from '../../harness/generate-load.ts';
import { usageOf } from '../../harness/process-usage.ts';
import { TEN_RULES } from '../rule-drafts.ts';
import type { Bench, Figure, Scenario } from '../scenario.ts';
import type { Stage } from '../stage.ts';

const EVENTS_PER_SECOND = 1_000;
const SETTLE_MS = 1_500;
const BYTES_PER_MB = 1_000_000;

/** How long processes take to start and to stop under load, and their memory before and during it. */
export const lifecycle: Scenario = {
  name: 'lifecycle',
  title: `start-up, SIGTERM at ${EVENTS_PER_SECOND} events/s, and memory, by process`,
  smoke: false,
  async run(bench: Bench) {
    for (const shape of ['distributed', 'standalone'] as const) {
      bench.progress(`lifecycle: ${shape}`);
      const stage = await bench.freshStage(shape);
      try {
        await stage.setRules(TEN_RULES);
        const load = generateLoad({
          url: stage.stack.ingestUrl,
          keys: [stage.stack.key],
          batchSize: 10,
          concurrency: 16,
          eventsPerSecond: EVENTS_PER_SECOND,
          durationMs: 60_000,
          agents: 50,
          errorShare: 0,
          reliable: false,
          markEvery: 0,
          seed: 1,
          label: 'lifecycle',
        });
        const weightBefore = weights(stage);
        await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
        for (const name of Object.keys(weightBefore)) bench.found(await leave(stage, name, weightBefore[name] ?? 0));
        load.stop();
        await load.report;
      } finally {
        await stage.close();
      }
    }
  },
};

function weights({ stack }: Stage): Record<string, number> {
  return Object.fromEntries(stack.services.map(({ name, pid }) => [name, usageOf(pid).rssBytes]));
}

/** Stops one process while it receives requests and messages, and starts it again. */
async function leave(stage: Stage, name: string, bytesBefore: number): Promise<Figure> {
  const service = stage.stack.service(name);
  const { rssBytes } = usageOf(service.pid);
  const { code, ms } = await service.stop();
  const startedAgainMs = await service.start();
  return {
    scenario: 'lifecycle',
    variant: name,
    shape: stage.stack.shape,
    unit: 'process',
    count: 1,
    seconds: 0,
    cpuMicros: {},
    latency: {},
    rssBytes: { [name]: rssBytes },
    checks: [{ name: 'exit code after SIGTERM', expected: 0, actual: code ?? -1 }],
    notes: {
      'start-up ms': Math.round(stage.stack.startUpMs[name] ?? 0),
      'SIGTERM to exit ms': Math.round(ms),
      'start-up again ms': Math.round(startedAgainMs),
      'MB before load': Math.round(bytesBefore / BYTES_PER_MB),
      'MB under load': Math.round(rssBytes / BYTES_PER_MB),
    },
  };
}
