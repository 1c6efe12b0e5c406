import { seededRandom } from '../../harness/seeded-random.ts';
import { Latencies, type LatencySummary } from '../../harness/statistics.ts';
import { untilSteady } from '../measure-load.ts';
import { LARGE_RUN, type Seeded, seedHistory } from '../query-seeds.ts';
import { atEveryMarker } from '../rule-drafts.ts';
import { type Bench, check, type Figure, type FigureCheck, type Scenario, serverCpu } from '../scenario.ts';
import type { Stage } from '../stage.ts';
import { type MeteredUsage, UsageMeter } from '../usage-meter.ts';

const REQUESTS = 300;
/** Length and maximum number of warm-up slices. */
const SLICE_SECONDS = 1;
const MAX_SLICES = 8;
const AT_ONCE = 4;
/** Totals are exact up to this number. */
const MAX_COUNTED = 10_000;

type Answer = Awaited<ReturnType<Stage['get']>>;

interface Question {
  readonly name: string;
  /** Number of concurrent clients. */
  readonly atOnce: number;
  path(random: () => number): string;
  /** Checks a response. */
  check(body: never): FigureCheck;
}

/** Reads over many stored rows. */
export const queries: Scenario = {
  name: 'queries',
  title: 'timeline of 1,000 events, run list and trigger history over stored rows (--rows)',
  smoke: false,
  async run(bench: Bench) {
    const stage = await bench.freshStage('distributed');
    try {
      const [ruleId = ''] = await stage.setRules([atEveryMarker('dry run')]);
      const seeded = await seedHistory(stage.pool, ruleId, bench.rows, (text) => bench.progress(`queries: ${text}`));
      for (const question of questionsOn(seeded)) {
        bench.progress(`queries: ${question.name}`);
        bench.found(await ask(stage, question, seeded, bench));
      }
    } finally {
      await stage.close();
    }
  },
};

function questionsOn(seeded: Seeded): Question[] {
  return [
    {
      // The base cost of a read: the key, a transaction as the tenant, one row by its key.
      name: 'one run, for comparison',
      atOnce: AT_ONCE,
      path: () => '/api/sessions/large-1',
      check: ({ id }: { id: string }) => check('runs found', 1, id === 'large-1' ? 1 : 0),
    },
    // The wait of a person who opens a run, alone and with all cores busy with the same query.
    ...[1, AT_ONCE].map((atOnce) => ({
      name: `run timeline of 1,000 events, ${atOnce} at once`,
      atOnce,
      path: (random: () => number) =>
        `/api/sessions/large-${1 + Math.floor(random() * seeded.largeRuns)}/timeline?limit=1000`,
      check: ({ events }: { events: object[] }) => check('events of a timeline', LARGE_RUN, events.length),
    })),
    {
      name: 'run list, newest 50',
      atOnce: AT_ONCE,
      path: () => '/api/sessions?limit=50',
      check: ({ total }: { total: number }) => check('runs in the list', Math.min(seeded.runs, MAX_COUNTED), total),
    },
    {
      name: 'run list of an agent, 7 days',
      atOnce: AT_ONCE,
      path: (random) => {
        const from = new Date(Date.now() - 7 * 86_400_000).toISOString();
        return `/api/sessions?limit=50&agentId=agent-${Math.floor(random() * 100)}&from=${from}`;
      },
      check: ({ sessions }: { sessions: object[] }) => check('pages with runs', 1, Math.min(1, sessions.length)),
    },
    {
      name: 'trigger history, newest 50',
      atOnce: AT_ONCE,
      path: () => '/api/guardrails/history?limit=50',
      check: ({ total }: { total: number }) =>
        check('triggers in the history', Math.min(seeded.triggers, MAX_COUNTED), total),
    },
  ];
}

async function ask(stage: Stage, question: Question, seeded: Seeded, bench: Bench): Promise<Figure> {
  const random = seededRandom(seeded.events);
  const warmUp = await warmedUp(stage, question, random);
  const latencies = new Latencies();
  const failed: FigureCheck[] = [];
  let lastCheck = check('answers', 0, 0);
  const onAnswer = ({ status, text }: Answer, ms: number) => {
    latencies.record(ms * 1000);
    lastCheck = status === 200 ? question.check(JSON.parse(text) as never) : check('status of the answer', 200, status);
    if (lastCheck.expected !== lastCheck.actual) failed.push(lastCheck);
  };
  const { asked, seconds, usage } = await series(
    stage,
    question,
    random,
    { most: REQUESTS, seconds: bench.seconds },
    onAnswer,
  );
  return {
    scenario: 'queries',
    variant: question.name,
    shape: 'distributed',
    unit: 'request',
    count: asked,
    seconds,
    cpuMicros: Object.fromEntries(Object.entries(usage.cpuMicros).map(([name, micros]) => [name, micros / asked])),
    latency: { answer: latencies.summary(), 'answer in the first second': warmUp },
    rssBytes: usage.rssBytes,
    checks: failed.length === 0 ? [lastCheck] : failed.slice(0, 3),
    notes: {
      'stored events': seeded.events,
      'stored runs': seeded.runs,
      'stored triggers': seeded.triggers,
      'at once': question.atOnce,
    },
  };
}

/**
 * Sends queries until their latency is stable, as `warmUp` does for a load. Returns the latencies of the first second.
 */
async function warmedUp(stage: Stage, question: Question, random: () => number): Promise<LatencySummary> {
  const first = new Latencies();
  await untilSteady(MAX_SLICES, async ({ length }) => {
    const onAnswer = (_answer: Answer, ms: number) => {
      if (length === 0) first.record(ms * 1000);
    };
    const { asked, usage } = await series(stage, question, random, { seconds: SLICE_SECONDS }, onAnswer);
    return serverCpu(usage) / asked;
  });
  return first.summary();
}

/** Sends queries for the given time, at most `most`. */
async function series(
  stage: Stage,
  question: Question,
  random: () => number,
  { most = Number.POSITIVE_INFINITY, seconds }: { readonly most?: number; readonly seconds: number },
  onAnswer: (answer: Answer, ms: number) => void,
): Promise<{ readonly asked: number; readonly seconds: number; readonly usage: MeteredUsage }> {
  const meter = new UsageMeter(stage.stack);
  const startedAt = performance.now();
  let asked = 0;
  const worker = async () => {
    while (asked < most && performance.now() < startedAt + seconds * 1000) {
      asked += 1;
      const askedAt = performance.now();
      const answer = await stage.get(question.path(random));
      // Excludes the time to parse 1,000 events, which adds a fifth and is not the platform's.
      onAnswer(answer, performance.now() - askedAt);
    }
  };
  await Promise.all(Array.from({ length: question.atOnce }, worker));
  return { asked, seconds: (performance.now() - startedAt) / 1000, usage: meter.stop() };
}
