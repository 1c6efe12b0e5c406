import { digested } from '../../bench/readiness.ts';
import { announceRules, copyRulesTo } from '../../bench/rule-seeds.ts';
import { type SeededTenant, seedTenants } from '../../bench/tenant-seeds.ts';
import { generateLoad, type RunningLoad } from '../../harness/generate-load.ts';
import type { LoadReport } from '../../harness/load-protocol.ts';
import { quantile } from '../../harness/quantile.ts';
import { atLeast, atMost, equal } from '../check.ts';
import type { Fault, Lab } from '../fault.ts';
import { startFlood } from '../flood.ts';
import type { Site } from '../site.ts';
import { DEFAULT_TENANT } from '../site.ts';

/** Alone and beside the flood in turn: the machine is not as fast now as a minute ago. */
const TURNS = 3;
/** Of flood, before the first turn: who is alone on code that is not yet compiled is slow for a reason of his own. */
const WARM_UP_SECONDS = 5;
/** With three turns long enough for 540 triggers: of 100 the p99 would be the single worst. */
const TURN_SECONDS = 18;
const BEGINNING_SECONDS = 5;
const QUIET_EVENTS_PER_SECOND = 10;
const LOUD_CLIENTS = 32;
/** Below this, by how slow the machine is, a ratio of latencies is a ratio of noise. */
const FLOOR_MS = 50;
const SETTLED_DEADLINE_MS = 30_000;

const noisy: Fault = {
  id: 'F-16',
  title: 'one tenant floods, another sends ten events a second',
  async run(lab) {
    const site = await lab.freshSite({ direct: ['nats', 'postgres', 'redis'] });
    const [quiet, loud] = await seedTenants(site.pool, site.root, 2);
    if (quiet === undefined || loud === undefined) throw new Error('two tenants were wanted');
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
        'p99 of the quiet one’s triggers',
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
  readonly alone: Heard;
  /** Until the flood is known for one; of so few triggers the p99 is the worst, so it is told and not judged. */
  readonly beginning: Heard;
  readonly beside: Heard;
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

/** Ends a flood and waits until it is worked off: what is left would be measured with whoever is alone next. */
async function ended(site: Site, flood: RunningLoad): Promise<LoadReport> {
  flood.stop();
  const report = await flood.report;
  await digested(site.stack, 'the flood', SETTLED_DEADLINE_MS);
  return report;
}

/** What was heard of the quiet one's triggers. */
interface Heard {
  /** Milliseconds. */
  readonly latencies: readonly number[];
  readonly missing: number;
  readonly report: LoadReport;
}

async function quietly(lab: Lab, site: Site, key: string, label: string, seconds: number): Promise<Heard> {
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

function pooled(heard: readonly Heard[]): readonly number[] {
  return heard.flatMap(({ latencies }) => latencies);
}

function acceptedPercent(reports: readonly LoadReport[]): number {
  const accepted = sum(reports.map(({ statuses }) => statuses['201'] ?? 0));
  return (100 * accepted) / sum(reports.map(({ requests }) => requests));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

export const TENANTS = [noisy];
