import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import { type Alert, ChannelDraft, COMMANDS, RoutingDocument } from '@agentlens/contracts';
import { eventually } from '@agentlens/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Dispatching, dispatching } from './dispatching.ts';
import { granted, reviewing } from './reviewing.ts';

const TENANTS = ['one', 'two', 'three', 'four'];
const ALERTS = 12;
const MAX_ALERTS = 100;
const KILLS = 8;

describe('flushers that are killed', () => {
  let world: Dispatching;
  const processes = new Set<ChildProcess>();
  beforeAll(async () => {
    world = await dispatching();
    world.clock.set(new Date().toISOString());
  });
  let isOver = false;
  afterAll(async () => {
    isOver = true;
    for (const one of processes) one.kill('SIGKILL');
    await world.close();
  });

  let kills = 0;
  function startFlusher(): void {
    const child = fork(join(import.meta.dirname, 'flusher-process.ts'), {
      execArgv: ['--conditions=@agentlens/source', '--experimental-transform-types', '--no-warnings'],
      env: { ...process.env, FLUSHER_DATABASE: world.url, NODE_OPTIONS: '' },
    });
    processes.add(child);
    child.on('message', (message) => {
      if (message !== 'queuing' || kills >= KILLS) return;
      kills += 1;
      // Between the claim of its groups and the commit.
      child.kill('SIGKILL');
    });
    child.on('exit', () => {
      processes.delete(child);
      if (!isOver && (kills < KILLS || processes.size === 0)) startFlusher();
    });
  }

  const shown = async (state: 'firing' | 'resolved') =>
    world.db
      .selectFrom('notice_alerts as a')
      .innerJoin('notices as n', (join_) =>
        join_.onRef('n.tenant_id', '=', 'a.tenant_id').onRef('n.notice_id', '=', 'a.notice_id'),
      )
      .innerJoin('deliveries as d', (join_) =>
        join_.onRef('d.tenant_id', '=', 'n.tenant_id').onRef('d.delivery_id', '=', 'n.delivery_id'),
      )
      .select(['a.alert_id', 'n.channel_id'])
      .where('a.state', '=', state)
      // What it says is part of the notice that took its place.
      .where('d.result', '<>', 'superseded')
      .execute();
  const counts = (rows: readonly { alert_id: string; channel_id: string }[], channel: string) =>
    [
      ...Map.groupBy(
        rows.filter(({ channel_id }) => channel_id === channel),
        ({ alert_id }) => alert_id,
      ).values(),
    ].map(({ length }) => length);

  it('lose nothing and double nothing: every alert opens and closes one incident, and each end is shown once', async () => {
    // Only the commands are needed: its notifier looks once an hour.
    const service = await world.start({ timings: { pollMs: 3_600_000 } });
    const review = reviewing(world);
    const url = 'http://127.0.0.1:9';
    for (const tenantId of TENANTS) {
      const pager = ChannelDraft.parse({ config: { kind: 'pagerduty', routingKey: 'a'.repeat(32), url } });
      const hook = ChannelDraft.parse({ config: { kind: 'webhook', url: `${url}/hook` } });
      granted(await world.bus.request(COMMANDS.setChannel, { tenantId, channelId: 'pager', draft: pager }));
      granted(await world.bus.request(COMMANDS.setChannel, { tenantId, channelId: 'hook', draft: hook }));
      const route = {
        id: 'all',
        channels: ['pager', 'hook'],
        groupBy: ['agent'],
        groupWait: '0s',
        groupInterval: '1s',
        repeat: null,
      };
      const document = RoutingDocument.parse({ routes: [route] });
      granted(await world.bus.request(COMMANDS.setRoutes, { tenantId, document, by: 'ann' }));
    }
    for (let n = 0; n < 3; n++) startFlusher();
    const raised: Alert[] = [];
    const raise = async (n: number) => {
      world.clock.set(new Date().toISOString());
      for (const tenantId of TENANTS) {
        raised.push(granted(await review.raise({ tenantId, agentId: `agent-${n % 3}`, runId: `run-${n}` })));
      }
    };
    const allShown = () =>
      eventually(async () => {
        expect(counts(await shown('firing'), 'pager')).toHaveLength(raised.length);
        expect(counts(await shown('firing'), 'hook')).toHaveLength(raised.length);
      });
    for (let n = 0; n < ALERTS; n++) await raise(n);
    await allShown();
    // A slow machine flushes many groups at once, so it offers fewer chances.
    for (let n = ALERTS; kills < KILLS && n < MAX_ALERTS; n++) {
      await raise(n);
      await allShown();
    }
    const total = raised.length;
    for (const { tenantId, id } of raised) {
      world.clock.set(new Date().toISOString());
      granted(await review.decide(id, 'cancel', { tenantId }));
    }
    await eventually(async () =>
      expect(await world.db.selectFrom('notice_groups').select('group_id').execute()).toEqual([]),
    );
    expect(kills).toBe(KILLS);
    const [firing, resolved] = [await shown('firing'), await shown('resolved')];
    expect(new Set(counts(firing, 'pager'))).toEqual(new Set([1]));
    expect(counts(resolved, 'pager')).toEqual(Array.from({ length: total }, () => 1));
    expect(counts(resolved, 'hook')).toEqual(Array.from({ length: total }, () => 1));
    const queued = await world.db
      .selectFrom('deliveries')
      .select('delivery_id')
      .where('action_type', '=', 'channel_notice')
      .execute();
    const notices = await world.db.selectFrom('notices').select('delivery_id').execute();
    expect(new Set(queued.map((row) => row.delivery_id))).toEqual(new Set(notices.map((row) => row.delivery_id)));
    await service.stop();
  });
});
