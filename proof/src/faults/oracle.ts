import { derivedId } from '@agentlens/contracts';
import { backlogOf } from '../bench/progress.ts';
import type { LoadReport } from '../harness/generate-load.ts';
import { until } from '../harness/time.ts';
import { atLeast, atMost, type Check, equal, holds, sameMembers } from './check.ts';
import type { Load } from './load.ts';
import { countsOf, ERROR_LIMIT, type OnRecord, readingsOf, recordOf } from './record.ts';
import type { Site } from './site.ts';
import { countsById } from './webhook-receiver.ts';

/** Deviations that a fault may cause. Default: none. */
export interface Allowance {
  readonly deadLetters?: number;
  /** Maximum number of deliveries of one webhook. */
  readonly receiptsPerWebhook?: number;
  /** Maximum error of the evaluator's counts. */
  readonly countError?: number;
  /** Number of service exits that the fault itself causes. */
  readonly exits?: number;
  readonly statuses?: readonly string[];
  readonly drainDeadlineMs?: number;
}

export interface Settled {
  readonly checks: readonly Check[];
  readonly report: LoadReport;
  /** From the last request until everything was stored, evaluated and carried out. */
  readonly drainMs: number;
  readonly worstTriggerMs: number;
  /** Whether most triggers were observed when they were published. Without observations there is no worst one. */
  readonly triggersTimed: Check;
}

/** State before a load, so that several faults can share a platform. */
export interface Before {
  readonly deadLetters: number;
  readonly exits: number;
}

const DRAIN_DEADLINE_MS = 60_000;
const PROBE_DEADLINE_MS = 60_000;
/** Longer than the redelivery wait of a message. */
const EVALUATED_MS = 15_000;

export async function before(site: Site): Promise<Before> {
  return { deadLetters: await site.streams.deadLetters(), exits: site.unexpectedExits };
}

/** Waits until a load is processed and compares what was accepted with the results. */
export async function settle(site: Site, load: Load, was: Before, allowance: Allowance = {}): Promise<Settled> {
  const report = await load.report;
  const accepted = new Map(Object.entries(report.acceptedByAgent ?? {}));
  const markers = report.acceptedMarkerIds ?? [];
  const overLimit = [...accepted].filter(([, { errors }]) => errors >= ERROR_LIMIT).map(([agent]) => agent);
  const startedAt = performance.now();
  const inTime = await drained(site, load, report, markers.length + overLimit.length, allowance);
  const drainMs = performance.now() - startedAt;
  const record = await recordOf(site.pool, load.label);
  const wantedCounts = new Map([...accepted].map(([agent, { events }]) => [agent, events + 1]));
  const counted = await probe(site, load, wantedCounts);
  const wantedCount = [...wantedCounts].map((one) => one.join(' '));
  const offBy = [...accepted].reduce(
    (sum, [agent, { events }]) => sum + Math.abs((counted.get(agent) ?? 0) - events - 1),
    0,
  );
  const { countError = 0 } = allowance;
  const receipts = countsById(site.receiver.of(load.label));
  const latencies = site.triggers.latencies(load.label, report.acceptedMarkersSentAt ?? {});
  return {
    report,
    drainMs,
    worstTriggerMs: Math.max(0, ...latencies),
    triggersTimed: atLeast('triggers that were timed', Math.max(1, Math.ceil(markers.length / 2)), latencies.length),
    checks: [
      { ...holds('drained in time', inTime === undefined, inTime ?? 'yes'), ofTime: true },
      sameMembers('rows are the accepted events', report.acceptedIds ?? [], record.eventIds),
      equal('rows stored twice', 0, record.duplicateRows),
      sameMembers('counters of agents', lines(accepted), lines(record.byAgent)),
      equal('counters of runs', report.acceptedEvents, record.runEvents),
      countError === 0
        ? sameMembers(
            'counts of the evaluator',
            wantedCount,
            [...counted].map((one) => one.join(' ')),
          )
        : atMost('count error of the evaluator', countError, offBy, 'events'),
      sameMembers('triggers are the accepted markers', markers, record.markerEventIds),
      equal('marker triggers recorded twice', 0, record.markerEventIds.length - new Set(record.markerEventIds).size),
      sameMembers('agents over their limit', overLimit, record.limitAgents),
      equal('actions repeated within a cooldown', 0, record.limitAgents.length - new Set(record.limitAgents).size),
      ...effects(record, receipts, allowance.receiptsPerWebhook ?? 1),
      equal('dead letters', allowance.deadLetters ?? 0, (await site.streams.deadLetters()) - was.deadLetters),
      equal('unexpected process exits', allowance.exits ?? 0, site.unexpectedExits - was.exits),
      statuses(report, allowance.statuses ?? ['0', '429', '503']),
    ],
  };
}

async function drained(
  site: Site,
  load: Load,
  report: LoadReport,
  triggers: number,
  { drainDeadlineMs = DRAIN_DEADLINE_MS }: Allowance,
): Promise<string | undefined> {
  let last = '';
  try {
    await until(
      'the platform to process what it accepted',
      async () => {
        const counts = await countsOf(site.pool, load.label);
        const backlog = await backlogOf(site.stack);
        last = JSON.stringify({ accepted: report.acceptedEvents, expectedTriggers: triggers, ...counts, backlog });
        const done = counts.events >= report.acceptedEvents && counts.triggers >= triggers;
        return done && counts.undelivered === 0 && backlog === 0 ? true : undefined;
      },
      drainDeadlineMs,
    );
    return undefined;
  } catch (error) {
    return `${String(error)}: ${last}`;
  }
}

/**
 * Sends one more event for each agent at the end. The resulting reading is the count of the agent. Waits longer if
 * readings are not as expected, because a service that cannot query its broker reports no backlog.
 */
async function probe(
  site: Site,
  load: Load,
  wanted: ReadonlyMap<string, number>,
): Promise<ReadonlyMap<string, number>> {
  const agents = [...wanted.keys()];
  const events = agents.map((agentId) => ({
    id: derivedId(Date.now(), load.label, 'probe', agentId),
    sessionId: `${agentId}-probe`,
    agentId,
    eventType: 'custom',
    severity: 'info',
    payload: { type: 'probe', data: {} },
  }));
  await until(
    'the probes to be accepted',
    async () => {
      const answer = await site.post(site.stack.ingestUrl, '/api/events', { events });
      if (answer.status === 201) return true;
      // The gateway may still limit its rate after the fault.
      if (answer.status === 429 || answer.status === 503) return undefined;
      throw new Error(`the probes were rejected: ${answer.status} ${answer.text}`);
    },
    PROBE_DEADLINE_MS,
  );
  const takenAt = performance.now();
  let readings: ReadonlyMap<string, number> = new Map();
  await until(
    'the readings of the probes',
    async () => {
      if ((await backlogOf(site.stack)) > 0) return undefined;
      const before = readings;
      readings = await readingsOf(site.pool, load.label, site.counterRuleId);
      // Written at most once a second: two equal readings more than a second apart are final.
      const same =
        readings.size === agents.length && [...readings].every(([agent, value]) => before.get(agent) === value);
      const late = performance.now() - takenAt > EVALUATED_MS;
      const done = same && (late || [...readings].every(([agent, value]) => wanted.get(agent) === value));
      if (!done) await new Promise((resolve) => setTimeout(resolve, 1_500));
      return done ? true : undefined;
    },
    PROBE_DEADLINE_MS,
  ).catch(() => undefined);
  return readings;
}

function effects(record: OnRecord, receipts: ReadonlyMap<string, number>, most: number): Check[] {
  const byTrigger = new Map<string, number>();
  for (const { triggerId } of record.deliveries) byTrigger.set(triggerId, (byTrigger.get(triggerId) ?? 0) + 1);
  const effective = record.markerEventIds.length + record.limitAgents.length;
  return [
    equal('triggers with a delivery', effective, byTrigger.size),
    equal('triggers with more than one delivery', 0, [...byTrigger.values()].filter((count) => count > 1).length),
    equal('deliveries without success', 0, record.deliveries.filter(({ result }) => result !== 'success').length),
    equal('webhooks received, by id', effective, receipts.size),
    atMost('receipts of one webhook', most, Math.max(0, ...receipts.values())),
  ];
}

function statuses({ statuses: answers }: LoadReport, allowed: readonly string[]): Check {
  const others = Object.keys(answers).filter((status) => status !== '201' && !allowed.includes(status));
  return holds(
    'answers of the gateway',
    others.length === 0,
    JSON.stringify(answers),
    `201, ${allowed.join(', ')} (0: none)`,
  );
}

function lines(byAgent: ReadonlyMap<string, { readonly events: number; readonly errors: number }>): string[] {
  return [...byAgent].map(([agent, { events, errors }]) => `${agent}: ${events} events, ${errors} errors`);
}
