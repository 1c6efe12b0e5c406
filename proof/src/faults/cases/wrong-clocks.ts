import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { digested } from '../../bench/progress.ts';
import { sameMembers } from '../check.ts';
import type { Fault, Lab } from '../fault.ts';
import { readingsOf } from '../record.ts';
import { DEFAULT_TENANT, type Site } from '../site.ts';
import { underLoad } from './under-load.ts';

const MINUTE_MS = 60_000;
const WINDOW_MINUTES = 6;
/** A window of n minutes consists of 60 buckets of n seconds. */
const BUCKET_MS = WINDOW_MINUTES * 1_000;
const BUCKETS = 60;
const AGENTS = 6;
const BATCHES = 60;
const PER_BATCH = 20;
const DEADLINE_MS = 30_000;

const disordered: Fault = {
  id: 'F-13',
  title: 'events out of order by minutes, from clocks wrong by up to an hour',
  async run(lab) {
    const site = await lab.site();
    const label = `skew${lab.seed}-${Date.now()}`;
    const ruleId = await site.addRule({
      name: 'fault: short window',
      conditionType: 'custom_metric',
      conditionConfig: { metricName: 'event_count', operator: 'gt', value: 1e15, windowMinutes: WINDOW_MINUTES },
      actionType: 'notify_webhook',
      actionConfig: { url: site.receiver.url('/never') },
      cooldownMinutes: 15,
    });
    await site.rulesHeld(4);
    try {
      const accepted = await send(lab, site, label);
      lab.note(`${accepted.length} events accepted`);
      await drained(site);
      const rows = await stored(site, label);
      lab.check(
        sameMembers(
          'rows are the accepted events',
          accepted,
          rows.map(({ eventId }) => eventId),
        ),
      );
      const readings = await readingsOf(site.pool, label, ruleId);
      const expected = recount(rows);
      lab.check(sameMembers('windows equal the recount', lines(expected), lines(readings)));
    } finally {
      await site.removeRule(ruleId);
      await site.rulesHeld(3);
    }
  },
};

/** Each agent's clock has its own skew, and its events arrive up to five minutes out of order. */
async function send(lab: Lab, site: Site, label: string): Promise<string[]> {
  const accepted: string[] = [];
  const skews = Array.from({ length: AGENTS }, () => (lab.random() * 2 - 1) * 60 * MINUTE_MS);
  let refused = 0;
  for (let batch = 0; batch < BATCHES; batch++) {
    const events = Array.from({ length: PER_BATCH }, (_, i) => {
      const agent = lab.between(0, AGENTS - 1);
      const at = Date.now() + (lab.random() * 2 - 1) * 5 * MINUTE_MS + (i % 2 === 0 ? (skews[agent] ?? 0) : 0);
      return {
        id: `${label}-${batch}-${i}`,
        sessionId: `${label}-session-${agent}`,
        agentId: `${label}-agent-${agent}`,
        eventType: 'custom',
        severity: 'info',
        timestamp: new Date(at).toISOString(),
        payload: { type: 'skewed', data: { batch } },
      };
    });
    const answer = await site.post(site.stack.ingestUrl, '/api/events?partial=true', { events });
    const body = JSON.parse(answer.text) as { readonly results?: readonly { readonly status: number }[] };
    events.forEach(({ id }, i) => {
      if (answer.status === 201 || body.results?.[i]?.status === 201) accepted.push(id);
      else refused += 1;
    });
    await lab.sleep(50);
  }
  lab.note(`${refused} events of clocks too far ahead rejected`);
  // Makes the last reading of every agent refer to the same instant: the arrival of these events.
  const last = Array.from({ length: AGENTS }, (_, agent) => ({
    id: `${label}-last-${agent}`,
    sessionId: `${label}-session-${agent}`,
    agentId: `${label}-agent-${agent}`,
    eventType: 'custom',
    payload: { type: 'last', data: {} },
    timestamp: new Date().toISOString(),
  }));
  await drained(site);
  const answer = await site.post(site.stack.ingestUrl, '/api/events', { events: last });
  if (answer.status !== 201) throw new Error(`refused: ${answer.status} ${answer.text}`);
  return [...accepted, ...last.map(({ id }) => id)];
}

async function drained(site: Site): Promise<void> {
  await digested(site.stack, 'the events', DEADLINE_MS);
  // Readings are written once a second.
  await new Promise((resolve) => setTimeout(resolve, 2_500));
}

interface Row {
  readonly eventId: string;
  readonly agentId: string;
  readonly occurredMs: number;
  readonly receivedMs: number;
}

async function stored(site: Site, label: string): Promise<readonly Row[]> {
  const { rows } = await site.pool.query<{ event_id: string; agent_id: string; occurred: string; received: string }>(
    `select event_id, agent_id, extract(epoch from occurred_at) * 1000 as occurred,
       extract(epoch from received_at) * 1000 as received
     from events where tenant_id = $1 and agent_id like $2`,
    [DEFAULT_TENANT, `${label}-agent-%`],
  );
  return rows.map((row) => ({
    eventId: row.event_id,
    agentId: row.agent_id,
    occurredMs: Number(row.occurred),
    receivedMs: Number(row.received),
  }));
}

/**
 * The naive model: an event counts at its own time but not after its arrival; the window ends when the last one
 * arrived.
 */
function recount(rows: readonly Row[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const agentId of new Set(rows.map((row) => row.agentId))) {
    const own = rows.filter((row) => row.agentId === agentId);
    const now = Math.floor(Math.max(...own.map(({ receivedMs }) => receivedMs)) / BUCKET_MS);
    const inside = own.filter(({ occurredMs, receivedMs }) => {
      const bucket = Math.floor(Math.min(occurredMs, receivedMs) / BUCKET_MS);
      return bucket > now - BUCKETS && bucket <= now;
    });
    counts.set(agentId, inside.length);
  }
  return counts;
}

function lines(values: ReadonlyMap<string, number>): string[] {
  return [...values].map(([agent, value]) => `${agent}: ${value}`);
}

const HOUR_MS = 3_600_000;
const PRELOAD = new URL('../preload/shifted-clock.ts', import.meta.url).href;

const clockJump: Fault = {
  id: 'F-29',
  title: 'the clock of the evaluator jumps an hour ahead, then an hour behind',
  async run(lab) {
    const folder = await mkdtemp(join(tmpdir(), 'agentlens-clock-'));
    const file = join(folder, 'shift');
    await writeFile(file, '0');
    const env = { PROOF_CLOCK_FILE: file };
    try {
      const site = await lab.freshSite({
        nodeOptions: ['--import', PRELOAD],
        serviceEnv: { 'guardrail-evaluator': env },
      });
      // The oracle is exact: windows use the time of arrival, so a jump must neither cause nor suppress a trigger.
      await underLoad(lab, site, {
        load: { eventsPerSecond: 1_000, seconds: 16, errorShare: 0.1 },
        faults: async () => {
          for (const shift of [HOUR_MS, -HOUR_MS, 0]) {
            await lab.sleep(4_000);
            await writeFile(file, String(shift));
            lab.note(`the evaluator's clock is off by ${shift / HOUR_MS} h`);
          }
        },
      });
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
};

export const WRONG_CLOCKS = [disordered, clockJump];
