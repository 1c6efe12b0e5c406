import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import { type Alert, ChannelDraft, RoutingDocument } from '@agentlens/contracts';
import { createMailConnector } from '@agentlens/egress';
import { eventually, type RecordedRequest, type RecordingServer, recordingServer } from '@agentlens/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { AlertMetrics } from '../src/alerts/alert-metrics.ts';
import { AlertService } from '../src/alerts/alert.service.ts';
import { AlertDecisions } from '../src/approvals/alert-decisions.ts';
import { ChannelKinds } from '../src/channels/channel-kinds.ts';
import { Channels } from '../src/channels/channels.service.ts';
import { RoutingDocuments } from '../src/notices/routing-documents.ts';
import { CRASH_POINTS, SENDING } from './crash-points.ts';
import { type Dispatching, dispatching } from './dispatching.ts';
import { granted } from './reviewing.ts';

const TENANTS = ['one', 'two', 'three'];
const ALERTS = 6;
const PROCESSES = 3;
const POINTS = [...CRASH_POINTS.map(({ name }) => name), SENDING];
const LOADER = join(import.meta.dirname, '../../../scripts/source-loader.mjs');
/** Each crash point twice, the second time after more work. */
const NTHS = [fc.integer({ min: 1, max: 2 }), fc.integer({ min: 2, max: 5 })];
const PLANS = NTHS.flatMap((nth) => fc.sample(nth, POINTS.length).map((n, point) => `${POINTS[point] ?? ''}:${n}`));
const MAX_ROUNDS = 12;

/** Opens and closes incidents as PagerDuty does: by key, and a resolve without an incident does nothing. */
class Incidents {
  readonly #open = new Set<string>();
  readonly opened: string[] = [];
  readonly closed: string[] = [];

  take({ body }: RecordedRequest): void {
    const { event_action: action, dedup_key: key } = JSON.parse(body);
    if (action === 'trigger' && !this.#open.has(key)) {
      this.#open.add(key);
      this.opened.push(key);
    }
    if (action === 'resolve' && this.#open.delete(key)) this.closed.push(key);
  }
}

describe('dispatchers that are killed at any point', () => {
  let world: Dispatching;
  let pagerDuty: RecordingServer;
  const incidents = new Incidents();
  const processes = new Set<ChildProcess>();
  const plans = [...PLANS];
  const died: string[] = [];
  let isOver = false;

  beforeAll(async () => {
    world = await dispatching();
    pagerDuty = await recordingServer();
    pagerDuty.answer((request, response) => {
      incidents.take(request);
      response.writeHead(202).end('{"status":"success"}');
    });
  });
  afterAll(async () => {
    isOver = true;
    for (const one of processes) one.kill('SIGKILL');
    await pagerDuty.close();
    await world.close();
  });

  function startDispatcher(): void {
    const plan = plans.shift();
    const child = fork(join(import.meta.dirname, 'dispatcher-process.ts'), {
      execArgv: ['--import', LOADER, '--conditions=@agentlens/source', '--no-warnings'],
      env: {
        ...process.env,
        ...{ DISPATCHER_DATABASE: world.url, DISPATCHER_DIES_AT: plan ?? '', NODE_OPTIONS: '' },
      },
    });
    processes.add(child);
    child.on('exit', (_code, signal) => {
      processes.delete(child);
      if (signal === 'SIGKILL' && plan !== undefined) died.push(plan);
      if (!isOver) startDispatcher();
    });
  }

  /** Writes what people and rules cause, without delivering anything. */
  function callers() {
    const { db, secrets } = world;
    const shared = [Date.now, new AlertMetrics(), () => undefined] as const;
    const channels = new Channels({
      ...{ db, secrets, egressPolicy: { allow: ['127.0.0.1/32'] }, now: Date.now, onQueued: () => undefined },
      kinds: new ChannelKinds(createMailConnector({ allow: [] })),
    });
    return {
      ...{ channels, alerts: new AlertService(db, ...shared), decisions: new AlertDecisions(db, ...shared) },
      routes: new RoutingDocuments(db, Date.now, () => undefined),
    };
  }

  const settled = () =>
    eventually(async () => {
      const [groups, deliveries] = await Promise.all([
        world.db.selectFrom('notice_groups').select('group_id').execute(),
        world.db.selectFrom('deliveries').select('delivery_id').where('settled_at', 'is', null).execute(),
      ]);
      expect({ groups: groups.length, deliveries: deliveries.length }).toEqual({ groups: 0, deliveries: 0 });
    });

  it('open and close one incident for every alert: nothing is lost, nothing is doubled', async () => {
    const { channels, alerts, decisions, routes } = callers();
    const config = { kind: 'pagerduty', routingKey: 'a'.repeat(32), url: pagerDuty.url };
    const all = { id: 'all', channels: ['pager'], groupBy: ['agent'], groupWait: '0s', groupInterval: '1s' };
    for (const tenantId of TENANTS) {
      granted(await channels.set({ tenantId, channelId: 'pager', draft: ChannelDraft.parse({ config }) }));
      const document = RoutingDocument.parse({ routes: [{ ...all, repeat: null }] });
      granted(await routes.set({ tenantId, document, by: 'ann' }));
    }
    const raised: Alert[] = [];
    const raise = async (tenantId: string) => {
      const about = { agentId: `agent-${raised.length % 3}`, runId: `run-${raised.length}` };
      const alert = { tenantId, kind: 'rule', severity: 'error', title: 'Look', message: 'at this', ...about } as const;
      raised.push(granted(await alerts.answer(alert)));
    };
    const end = async ({ tenantId, id: alertId }: Alert) =>
      granted(await decisions.decide({ tenantId, alertId, verb: 'cancel', by: 'ann' }));
    const accepted = () => eventually(() => expect(incidents.opened).toHaveLength(raised.length));

    for (let n = 0; n < PROCESSES; n++) startDispatcher();
    for (let n = 0; n < ALERTS; n++) for (const tenantId of TENANTS) await raise(tenantId);
    await accepted();
    for (const alert of raised) await end(alert);
    // Dispatchers that have not reached their point need more to do.
    for (let round = 0; round < MAX_ROUNDS && died.length < PLANS.length; round++) {
      const from = raised.length;
      for (const tenantId of TENANTS) await raise(tenantId);
      await accepted();
      for (const alert of raised.slice(from)) await end(alert);
      await eventually(() => expect(incidents.closed).toHaveLength(raised.length));
    }
    await settled();

    expect(died.sort((a, b) => a.localeCompare(b))).toEqual(PLANS.sort((a, b) => a.localeCompare(b)));
    const keys = raised.map(({ tenantId, id }) => `agentlens:${tenantId}:${id}`).sort((a, b) => a.localeCompare(b));
    expect([...incidents.opened].sort((a, b) => a.localeCompare(b))).toEqual(keys);
    expect([...incidents.closed].sort((a, b) => a.localeCompare(b))).toEqual(keys);
    const shown = await world.db.selectFrom('notice_alerts').select(['alert_id', 'state']).execute();
    expect(shown).toHaveLength(2 * raised.length);
  });
});
