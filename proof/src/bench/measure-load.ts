import { generateLoad, type LoadOrder, type LoadReport } from '../harness/generate-load.ts';
import type { LatencySummary } from '../harness/statistics.ts';
import { until } from '../harness/time.ts';
import { type BenchOnRecord, backlogOf, countedEvents, countedTriggers, recordOf } from './progress.ts';
import { type Figure, type FigureCheck, GENERATOR, serverCpu } from './scenario.ts';
import type { Stage } from './stage.ts';
import { UsageMeter } from './usage-meter.ts';

/** Checks of a load: something was accepted, and all of it was recorded. */
export function loadChecks(report: LoadReport, record: BenchOnRecord): FigureCheck[] {
  const { acceptedEvents: expected } = report;
  const { evaluated } = record;
  return [
    // Otherwise zero would equal zero, at no cost.
    { name: 'loads of which something was accepted', expected: 1, actual: Math.min(1, expected) },
    { name: 'rows stored', expected, actual: record.rows },
    { name: 'events counted by agent', expected, actual: record.counted },
    { name: 'events counted by run', expected, actual: record.countedInRuns },
    { name: 'errors counted by agent', expected: report.acceptedErrors, actual: record.countedErrors },
    ...(evaluated === undefined ? [] : [{ name: 'events evaluated', expected, actual: evaluated }]),
    { name: 'triggers recorded', expected: Object.keys(report.markers).length, actual: record.triggers },
  ];
}

export interface MeasuredLoadPlan {
  readonly scenario: string;
  readonly variant: string;
  readonly batchSize: number;
  readonly seconds: number;
  readonly concurrency: number;
  readonly eventsPerSecond?: number;
  readonly keys?: readonly string[];
  readonly agents?: number;
  /** See `LoadOrder.markEvery`. Every marker causes one trigger. */
  readonly markEvery?: number;
  /** Waits for the effects of triggers, checks them, and adds its timings. */
  readonly afterTriggers?: (report: LoadReport, label: string) => Promise<Aftermath>;
}

export interface Aftermath {
  readonly checks: readonly FigureCheck[];
  readonly latency: Readonly<Record<string, LatencySummary>>;
  readonly notes?: Readonly<Record<string, string | number>>;
}

const DRAIN_DEADLINE_MS = 120_000;
const SEED = 20_260_301;
let runs = 0;

/** Sends load, waits until all of it was stored, evaluated and carried out, and checks what was recorded. */
export async function measureLoad(stage: Stage, plan: MeasuredLoadPlan): Promise<Figure> {
  runs += 1;
  const label = `b${runs}`;
  const meter = new UsageMeter(stage.stack);
  const startedAt = performance.now();
  try {
    const evaluatedBefore = await stage.evaluatedEvents();
    const report = await generateLoad(orderOf(stage, plan, label)).report;
    const expectedTriggers = Object.keys(report.markers).length;
    await drained(stage, label, report.acceptedEvents, expectedTriggers);
    const aftermath = await plan.afterTriggers?.(report, label);
    const seconds = (performance.now() - startedAt) / 1000;
    const usage = meter.stop();
    const evaluated = await stage.evaluatedEvents();
    const record = { ...(await recordOf(stage.pool, label)), ...since(evaluatedBefore, evaluated) };
    const cpu = { ...usage.cpuMicros, [GENERATOR]: report.cpuMicros };
    return {
      scenario: plan.scenario,
      variant: plan.variant,
      shape: stage.stack.shape,
      unit: 'event',
      count: report.acceptedEvents,
      seconds,
      cpuMicros: Object.fromEntries(
        Object.entries(cpu).map(([name, micros]) => [name, micros / Math.max(1, report.acceptedEvents)]),
      ),
      latency: { post: report.latency, ...aftermath?.latency },
      rssBytes: usage.rssBytes,
      checks: [...loadChecks(report, record), ...(aftermath?.checks ?? [])],
      notes: { ...refusals(report), ...aftermath?.notes, sendingSeconds: report.seconds },
    };
  } finally {
    meter.stop();
  }
}

function since(before: number | undefined, now: number | undefined): { readonly evaluated?: number } {
  return before === undefined || now === undefined ? {} : { evaluated: now - before };
}

function orderOf(stage: Stage, plan: MeasuredLoadPlan, label: string): LoadOrder {
  return {
    url: stage.stack.ingestUrl,
    keys: plan.keys ?? [stage.stack.key],
    batchSize: plan.batchSize,
    concurrency: plan.concurrency,
    ...(plan.eventsPerSecond === undefined ? {} : { eventsPerSecond: plan.eventsPerSecond }),
    durationMs: plan.seconds * 1000,
    agents: plan.agents ?? 50,
    errorShare: 0.02,
    reliable: false,
    markEvery: plan.markEvery ?? 0,
    seed: SEED,
    label,
  };
}

/**
 * Waits for at least the acknowledged events. There may be more, because a request whose response was lost may have
 * been accepted.
 */
async function drained(stage: Stage, label: string, accepted: number, triggers: number): Promise<void> {
  await until(
    `${accepted} events to be stored and evaluated, and ${triggers} triggers`,
    async () => {
      if ((await countedEvents(stage.pool, label)) < accepted) return undefined;
      if ((await backlogOf(stage.stack)) > 0) return undefined;
      if (triggers > 0 && (await countedTriggers(stage.pool, label)) < triggers) return undefined;
      return true;
    },
    DRAIN_DEADLINE_MS,
    async () => {
      const events = await countedEvents(stage.pool, label);
      const waiting = await backlogOf(stage.stack);
      const recorded = await countedTriggers(stage.pool, label);
      const output = stage.stack.services.map((service) => service.lastOutput()).join('\n');
      return `(${events} events counted, ${waiting} messages wait, ${recorded} triggers recorded)\n${output}`;
    },
  );
}

function refusals({ statuses }: LoadReport): Record<string, number> {
  const refused = Object.entries(statuses).filter(([status]) => status !== '201');
  return Object.fromEntries(refused.map(([status, count]) => [`answers ${status}`, count]));
}

const SLICE_SECONDS = 2;
const MAX_SLICES = 7;
/** Two equal slices may be chance, and code that is still being compiled gets cheaper only gradually. */
const ALIKE_SLICES = 3;
const ALIKE_WITHIN = 0.05;

/**
 * Sends the load of a scenario until the cost per event is stable, because production runs compiled code. On a machine
 * that never settles, for a quarter of a minute.
 */
export async function warmUp(
  stage: Stage,
  load: Pick<MeasuredLoadPlan, 'scenario' | 'batchSize' | 'concurrency'>,
  progress: (text: string) => void,
): Promise<void> {
  await untilSteady(MAX_SLICES, async (before) => {
    const cost = serverCpu(await measureLoad(stage, { ...load, variant: 'warm-up', seconds: SLICE_SECONDS }));
    const costs = [...before, cost].map((each) => each.toFixed(0));
    progress(`warming up for ${load.scenario}: CPU µs/event ${costs.join(', ')}`);
    return cost;
  });
  await stage.forgetEvents();
}

/**
 * Runs at most `most` slices, until one costs the same as the previous ones. `slice` receives their costs and returns
 * its own.
 */
export async function untilSteady(most: number, slice: (before: readonly number[]) => Promise<number>): Promise<void> {
  const costs: number[] = [];
  while (costs.length < most && !isSteady(costs)) costs.push(await slice(costs));
}

/** Whether the last slices cost the same. */
function isSteady(costs: readonly number[]): boolean {
  const last = costs.slice(-ALIKE_SLICES);
  return last.length === ALIKE_SLICES && Math.max(...last) <= Math.min(...last) * (1 + ALIKE_WITHIN);
}
