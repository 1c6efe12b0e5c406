import { median } from '../harness/statistics.ts';
import { until } from '../harness/time.ts';
import { backlogOf, countedEvents } from './progress.ts';
import type { Figure } from './scenario.ts';
import type { Stage } from './stage.ts';
import { UsageMeter } from './usage-meter.ts';

/** One way to send the same data. */
export interface Sender {
  readonly name: string;
  /** Stored events per request. */
  readonly eventsEach: number;
  send(agentId: string): Promise<void>;
}

export interface InTurnPlan {
  readonly scenario: string;
  /** Duration of all rounds in total. */
  readonly seconds: number;
  readonly senders: readonly [Sender, Sender, ...Sender[]];
  readonly concurrency: number;
}

/** The first round is a warm-up and does not count. */
const ROUNDS = 5;
const DRAIN_DEADLINE_MS = 120_000;

/**
 * Measures the services' CPU per stored event for several ways to send it. Takes turns for several rounds and reports
 * medians, so that other load on the machine affects all ways equally. The first way is the baseline.
 */
export async function measureInTurn(stage: Stage, plan: InTurnPlan): Promise<Figure> {
  const startedAt = performance.now();
  const roundMs = (plan.seconds * 1000) / (ROUNDS * plan.senders.length);
  const found = new Map<string, { readonly gateway: number; readonly all: number }[]>();
  let count = 0;
  for (let round = 0; round <= ROUNDS; round++) {
    for (const sender of plan.senders) {
      const { events, micros } = await measured(
        stage,
        sender,
        `turn-${sender.name}-${round}`,
        roundMs,
        plan.concurrency,
      );
      if (round === 0) continue;
      count += events;
      found.set(sender.name, [...(found.get(sender.name) ?? []), micros]);
    }
  }
  return {
    ...{ scenario: plan.scenario, variant: 'in turn', shape: stage.stack.shape, unit: 'process', count },
    seconds: (performance.now() - startedAt) / 1000,
    ...{ cpuMicros: {}, latency: {}, rssBytes: {}, checks: [] },
    notes: notesOn(plan.senders, found),
  };
}

async function measured(stage: Stage, sender: Sender, label: string, forMs: number, concurrency: number) {
  const meter = new UsageMeter(stage.stack);
  let requests = 0;
  const untilMs = performance.now() + forMs;
  const line = async () => {
    while (performance.now() < untilMs) {
      await sender.send(`${label}-agent-1`);
      requests += 1;
    }
  };
  try {
    await Promise.all(Array.from({ length: concurrency }, line));
    const events = requests * sender.eventsEach;
    await until(
      `${events} events to be stored and evaluated`,
      async () =>
        (await countedEvents(stage.pool, label)) === events && (await backlogOf(stage.stack)) === 0 ? true : undefined,
      DRAIN_DEADLINE_MS,
      async () => `(${await countedEvents(stage.pool, label)} are counted)`,
    );
    const { cpuMicros } = meter.stop();
    const all = Object.values(cpuMicros).reduce((sum, micros) => sum + micros, 0);
    return { events, micros: { gateway: (cpuMicros.ingest ?? all) / events, all: all / events } };
  } finally {
    meter.stop();
  }
}

function notesOn(
  senders: readonly Sender[],
  found: ReadonlyMap<string, readonly { readonly gateway: number; readonly all: number }[]>,
): Record<string, string> {
  const notes: Record<string, string> = {};
  const [base] = senders;
  for (const part of ['gateway', 'all'] as const) {
    const micros = (name: string) => median((found.get(name) ?? []).map((one) => one[part]));
    for (const { name } of senders) notes[`${part}, ${name}`] = `${micros(name).toFixed(1)} µs CPU per event`;
    for (const { name } of senders.slice(1)) {
      if (base !== undefined)
        notes[`${part}, ${name} beside ${base.name}`] = `x ${(micros(name) / micros(base.name)).toFixed(2)}`;
    }
  }
  return notes;
}
