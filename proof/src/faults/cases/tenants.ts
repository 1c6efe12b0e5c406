import { digested } from '../../bench/progress.ts';
import { announceRules, copyRulesTo, type SeededTenant, seedTenants } from '../../bench/seeds.ts';
import { generateLoad, type LoadReport, type RunningLoad } from '../../harness/generate-load.ts';
import { quantile } from '../../harness/statistics.ts';
import { atLeast, atMost, equal } from '../check.ts';
import type { Fault, Lab } from '../fault.ts';
import { startFlood } from '../load.ts';
import { DEFAULT_TENANT, type Site } from '../site.ts';

/** Alternates between alone and beside the flood, because the speed of the machine changes within a minute. */
const TURNS = 3;
/** Flood before the first turn. Code that is not compiled yet would slow down the turns alone. */
const WARM_UP_SECONDS = 5;
/** With three turns, long enough for 540 triggers. The p99 of 100 would be the worst one. */
const TURN_SECONDS = 18;
const BEGINNING_SECONDS = 5;
const QUIET_EVENTS_PER_SECOND = 10;
const LOUD_CLIENTS = 32;
/** Below this, scaled by the slowness of the machine, a ratio of latencies is noise. */
const FLOOR_MS = 50;
const SETTLED_DEADLINE_MS = 30_000;

const noisy: Fault = {
  id: 'F-16',
  title: 'one tenant floods, another sends ten events a second',
  async run(lab) {
    const site = await lab.freshSite({ direct: ['nats', 'postgres', 'redis'] });
    const [quiet, loud] = await seedTenants(site.pool, site.root, 2);
    if (quiet === undefined || loud === undefined) throw new Error('expected two tenants');
    await copyRulesTo(site.pool, DEFAULT_TENANT, [quiet.id, loud.id]);
    await announceRules(site.pool, [quiet.id, loud.id]);
    await site.rulesHeld(9);
    const warmUp = startFlood(lab, site, { key: loud.key, concurrency: LOUD_CLIENTS, label: 'warmup' });
    await lab.sleep(WARM_UP_SECONDS * 1_000);
    await ended(site, warmUp);
    const turns: Turn[] = [];
    for (let turn = 1; turn <= TURNS; turn++) turns.push(await takeTurn(lab, site, quiet, loud, turn));
    const alone = pooled(turns.map((turn) => turn.alone));
    const beside = pooled(turns.map((turn) => turn.beside));
    const floods = turns.map(({ flooded }) => flooded);
    const flood = sum(floods.map(({ acceptedEvents }) => acceptedEvents)) / sum(floods.map(({ seconds }) => seconds));
    lab.note(`alone in all: ${described(alone)}; beside ${flood.toFixed(0)} events/s: ${described(beside)}`);
    lab.measure('flood', flood, 'events/s');
    const all = turns.flatMap((turn) => [turn.alone, turn.beginning, turn.beside]);
    lab.check(
      atMost(
        "p99 of the quiet tenant's triggers",
        Math.max(2 * quantile(alone, 0.99), FLOOR_MS * lab.slowness()),
        quantile(beside, 0.99),
        'ms',
      ),
      atLeast('its accepted requests, %', 99.9, acceptedPercent(turns.map((turn) => turn.beside.report))),
      equal('triggers not seen', 0, sum(all.map(({ missing }) => missing))),
    );
  },
};

interface Turn {
  readonly alone: ObservedTriggers;
  /** Until the flood is detected. Of so few triggers the p99 is the worst one, so it is reported but not judged. */
  readonly beginning: ObservedTriggers;
  readonly beside: ObservedTriggers;
  readonly flooded: LoadReport;
}

async function takeTurn(lab: Lab, site: Site, quiet: SeededTenant, loud: SeededTenant, turn: number): Promise<Turn> {
  const alone = await quietly(lab, site, quiet.key, `alone${turn}`, TURN_SECONDS);
  lab.note(`alone: ${described(alone.latencies)}`);
  const flood = startFlood(lab, site, { key: loud.key, concurrency: LOUD_CLIENTS, label: `loud${turn}` });
  const beginning = await quietly(lab, site, quiet.key, `beginning${turn}`, BEGINNING_SECONDS);
  lab.note(`while the flood begins: ${described(beginning.latencies)}`);
  const beside = await quietly(lab, site, quiet.key, `beside${turn}`, TURN_SECONDS);
  const flooded = await ended(site, flood);
  lab.note(`beside ${(flooded.acceptedEvents / flooded.seconds).toFixed(0)} events/s: ${described(beside.latencies)}`);
  return { alone, beginning, beside, flooded };
}

/** Ends a flood and waits until it is processed, because the rest would affect the next turn. */
async function ended(site: Site, flood: RunningLoad): Promise<LoadReport> {
  flood.stop();
  const report = await flood.report;
  await digested(site.stack, 'the flood', SETTLED_DEADLINE_MS);
  return report;
}

/** Observed triggers of the quiet tenant. */
interface ObservedTriggers {
  /** Milliseconds. */
  readonly latencies: readonly number[];
  readonly missing: number;
  readonly report: LoadReport;
}

async function quietly(lab: Lab, site: Site, key: string, label: string, seconds: number): Promise<ObservedTriggers> {
  const report = await generateLoad({
    url: site.stack.ingestUrl,
    keys: [key],
    batchSize: 1,
    concurrency: 8,
    eventsPerSecond: QUIET_EVENTS_PER_SECOND,
    durationMs: seconds * 1_000,
    agents: 5,
    errorShare: 0,
    reliable: true,
    markEvery: 1,
    seed: lab.seed,
    label,
  }).report;
  const wanted = Object.keys(report.markers).length;
  const seen = () => site.triggers.latencies(label, report.markers);
  for (let waited = 0; seen().length < wanted && waited < 60; waited++) await lab.sleep(500);
  const latencies = seen();
  return { latencies, missing: wanted - latencies.length, report };
}

function described(latencies: readonly number[]): string {
  return `p50 / p99 of ${latencies.length} triggers ${quantile(latencies, 0.5).toFixed(0)} / ${quantile(latencies, 0.99).toFixed(0)} ms`;
}

function pooled(observed: readonly ObservedTriggers[]): readonly number[] {
  return observed.flatMap(({ latencies }) => latencies);
}

function acceptedPercent(reports: readonly LoadReport[]): number {
  const accepted = sum(reports.map(({ statuses }) => statuses['201'] ?? 0));
  return (100 * accepted) / sum(reports.map(({ requests }) => requests));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

export const TENANTS = [noisy];
