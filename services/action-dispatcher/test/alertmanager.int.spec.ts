import { setTimeout as pause } from 'node:timers/promises';
import { type Alert, type AlertLabels, RoutingDocument } from '@agentlens/contracts';
import {
  dueAfterChange,
  findRoutes,
  flushGroup,
  type GroupState,
  pickGroup,
  readStoredRouting,
} from '@agentlens/routing';
import {
  eventually,
  type RecordingServer,
  recordingServer,
  startAlertmanager,
  type TestServer,
} from '@agentlens/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { alertmanager as alertmanagerKind } from '../src/channels/kinds/alertmanager.ts';
import { alertmanagerWebhook } from '../src/channels/kinds/alertmanager-webhook.ts';
import type { Notice } from '../src/channels/notice.ts';

const TRACES = 500;
/** Alerts begin and end at multiples of this, and both sides look at a group once in between. */
const SLOT_MS = 8_000;
const WAIT_MS = 4_000;
const SLOTS = 5;
const RECEIVERS = ['r0', 'r1', 'r2'];

interface TracedAlert {
  readonly id: string;
  readonly labels: AlertLabels;
  readonly from: number;
  /** It ends a slot later at least: Alertmanager reports the end of what was never shown, and we do not. */
  readonly to: number;
}
interface Trace {
  readonly document: RoutingDocument;
  readonly alerts: readonly TracedAlert[];
}

const Labels = fc.record(
  {
    severity: fc.constantFrom('info', 'warn', 'critical'),
    agent: fc.constantFrom('bot-1', 'bot-2', 'billing-1'),
    team: fc.constantFrom('finance', 'ops'),
    rule: fc.constantFrom('a', 'b'),
  },
  { requiredKeys: ['severity'] },
);
const Matcher = fc.constantFrom(
  ...['severity=critical', 'severity!=info', 'severity=~info|warn', 'severity!~crit', 'agent=bot-1', 'agent=~bot-.*'],
  ...['agent!~bot', 'agent=~bot', 'team=', 'team!=', 'team=finance', 'team=~.+', 'rule!=a', 'rule=~a|b'],
);
const GroupBy = fc.option(fc.subarray(['severity', 'agent', 'team', 'rule']), { nil: undefined });
const RouteBelow = fc.record({
  match: fc.array(Matcher, { minLength: 1, maxLength: 2 }),
  channel: fc.option(fc.constantFrom(...RECEIVERS), { nil: undefined }),
  continue: fc.boolean(),
  groupBy: GroupBy,
  /** Position of the route above, modulo how many there are. */
  under: fc.nat(),
});
const Traced = fc.record({
  first: fc.record({ channel: fc.constantFrom(...RECEIVERS), groupBy: GroupBy }),
  below: fc.array(RouteBelow, { maxLength: 4 }),
  alerts: fc.array(
    fc.record({ labels: Labels, from: fc.nat({ max: SLOTS - 2 }), lasts: fc.integer({ min: 1, max: SLOTS }) }),
    { minLength: 1, maxLength: 5 },
  ),
});

function readTrace({ first, below, alerts }: typeof Traced extends fc.Arbitrary<infer T> ? T : never): Trace {
  const timing = { groupWait: `${WAIT_MS / 1_000}s`, groupInterval: `${SLOT_MS / 1_000}s`, repeat: '90d' };
  const routes = below.map(({ match, channel, groupBy, under, ...route }, n) => ({
    ...{ ...route, id: `route-${n + 1}`, under: `route-${under % (n + 1)}`, match },
    ...(channel === undefined ? {} : { channels: [channel] }),
    ...(groupBy === undefined ? {} : { groupBy }),
  }));
  const top = { id: 'route-0', channels: [first.channel], groupBy: first.groupBy ?? [], ...timing };
  return {
    document: RoutingDocument.parse({ routes: [top, ...routes] }),
    alerts: alerts.map(({ labels, from, lasts }, n) => ({ id: `alert-${n}`, labels, from, to: from + lasts })),
  };
}

/** A route with the routes below it, as Alertmanager writes it. JSON is YAML. */
function writeRoute({ routes }: RoutingDocument, id: string, trace: number): object {
  const route = routes.find((one) => one.id === id);
  const isFirst = route?.under === undefined;
  const matchers = (route?.match ?? []).map((text) => text.replace(/^(\w+)(=~|!~|!=|=)(.*)$/, '$1$2"$3"'));
  return {
    matchers: isFirst ? [`trace="${trace}"`] : matchers,
    continue: route?.continue ?? false,
    ...(route?.channels === undefined ? {} : { receiver: route.channels[0] }),
    ...(route?.groupBy === undefined ? {} : { group_by: ['trace', ...route.groupBy] }),
    routes: routes
      .filter(({ under }) => under === id)
      .map((child) => writeRoute({ routes } as RoutingDocument, child.id, trace)),
  };
}

/** What a receiver got about one group, notice by notice. */
interface Told {
  readonly receiver: string;
  readonly group: Readonly<Record<string, string>>;
  readonly notices: { readonly firing: readonly string[]; readonly ended: readonly string[] }[];
}

/** The groups of a trace in the order of their text, because a route has no name in Alertmanager. */
const sorted = (told: readonly Told[]) => told.map((one) => JSON.stringify(one)).sort((a, b) => a.localeCompare(b));
const byName = (names: readonly string[]) => [...names].sort((a, b) => a.localeCompare(b));

/** Plays a trace with the functions of the dispatcher. */
function play({ document, alerts }: Trace): Told[] {
  const { tree } = readStoredRouting(document, RECEIVERS);
  const groups = new Map<
    string,
    Told & { state: GroupState; dueAtMs: number; members: TracedAlert[]; interval: number }
  >();
  for (let nowMs = 0; nowMs <= (SLOTS + 2) * SLOT_MS; nowMs += WAIT_MS) {
    const slot = nowMs / SLOT_MS;
    for (const alert of alerts) {
      for (const route of findRoutes(tree, alert.labels)) {
        const group = pickGroup(route, alert.labels);
        const key = JSON.stringify([route.id, group]);
        const { groupIntervalMs: interval, groupWaitMs } = route;
        const found = groups.get(key);
        const timing = { groupIntervalMs: interval, repeatMs: null };
        if (alert.from === slot) {
          const state = found?.state ?? { notBeforeMs: nowMs + groupWaitMs, lastSentAtMs: null, shown: [] };
          const dueAtMs = Math.min(found?.dueAtMs ?? Number.POSITIVE_INFINITY, dueAfterChange(state, timing, nowMs));
          const members = [...(found?.members ?? []), alert];
          groups.set(key, {
            receiver: route.channels[0] ?? '',
            group,
            notices: found?.notices ?? [],
            state,
            dueAtMs,
            members,
            interval,
          });
        } else if (alert.to === slot && found !== undefined) {
          found.dueAtMs = Math.min(found.dueAtMs, dueAfterChange(found.state, timing, nowMs));
        }
      }
    }
    for (const group of groups.values()) {
      if (group.dueAtMs > nowMs) continue;
      const members = group.members.map(({ id, from, to }) => ({ alertId: id, firing: from <= slot && slot < to }));
      const {
        send,
        group: state,
        dueAtMs,
      } = flushGroup(group.state, members, { groupIntervalMs: group.interval, repeatMs: null }, nowMs);
      Object.assign(group, { state, dueAtMs: dueAtMs ?? Number.POSITIVE_INFINITY });
      if (send !== undefined) group.notices.push({ firing: byName(send.firing), ended: byName(send.ended) });
    }
  }
  return [...groups.values()].map(({ receiver, group, notices }) => ({ receiver, group, notices }));
}

/** Alertmanager takes no clock, so the traces are played in real time: only where nothing else runs, every night. */
const describeInRealTime = process.env.AGENTLENS_REAL_TIME === 'on' ? describe : describe.skip;

describeInRealTime('a real Alertmanager and the routing of the dispatcher', () => {
  let alertmanager: TestServer;
  let receiver: RecordingServer;
  const traces = fc.sample(Traced, TRACES).map(readTrace);

  beforeAll(async () => {
    receiver = await recordingServer();
    const route = {
      ...{ receiver: 'none', group_wait: `${WAIT_MS}ms`, group_interval: `${SLOT_MS}ms`, repeat_interval: '24h' },
      routes: traces.map(({ document }, trace) => writeRoute(document, 'route-0', trace)),
    };
    const receivers = RECEIVERS.map((name) => ({
      name,
      webhook_configs: [{ url: `${receiver.url}/${name}`, send_resolved: true }],
    }));
    alertmanager = await startAlertmanager(JSON.stringify({ route, receivers: [{ name: 'none' }, ...receivers] }));
  });
  afterAll(async () => {
    await alertmanager?.stop();
    await receiver?.close();
  });

  const post = async (alerts: readonly object[]) => {
    const body = JSON.stringify(alerts);
    const headers = { 'content-type': 'application/json' };
    const { status } = await fetch(`${alertmanager.url}/api/v2/alerts`, { method: 'POST', headers, body });
    expect(status).toBe(200);
  };

  it(`tell every receiver the same about the groups of ${TRACES} traces`, async () => {
    const startedMs = Date.now();
    for (let slot = 0; slot < SLOTS; slot++) {
      await pause(Math.max(0, startedMs + slot * SLOT_MS - Date.now()));
      const at = new Date().toISOString();
      const changed = traces.flatMap(({ alerts }, trace) =>
        alerts
          .filter(({ from, to }) => from === slot || to === slot)
          .map(({ id, labels, from }) => ({
            labels: { alertname: 'traced', id, trace: String(trace), ...labels },
            startsAt: from === slot ? at : new Date(startedMs + from * SLOT_MS).toISOString(),
            endsAt: from === slot ? new Date(Date.now() + 3_600_000).toISOString() : at,
          })),
      );
      await post(changed);
      const lateMs = Date.now() - startedMs - slot * SLOT_MS;
      if (lateMs >= WAIT_MS) throw new Error(`the machine is too busy to play traces: ${lateMs} ms late`);
    }
    const cut = traces.map((trace) => ({
      ...trace,
      alerts: trace.alerts.map((one) => ({ ...one, to: one.to < SLOTS ? one.to : 99 })),
    }));
    const expected = cut.map((trace) => sorted(play(trace)));
    await eventually(() => expect(told().map(sorted)).toEqual(expected));
    expect(receiver.requests.length).toBeGreaterThan(TRACES);
  });

  it('is pushed alerts that it shows until they end', async () => {
    const alert: Alert = {
      ...{ id: 'pushed', tenantId: 'acme', kind: 'rule', status: 'pending', severity: 'critical', agentId: 'bot' },
      ...{ title: 'Spent "too" much', message: 'line 1\nline 2', createdAt: new Date().toISOString(), version: 1 },
    };
    const at = new Date().toISOString();
    const notice: Notice = {
      ...{ id: 'n', tenantId: 'acme', channelId: 'am', reason: 'first', route: 'all', at, group: {}, more: 0 },
      ...{ firing: [alert], resolved: [], everyMs: 60_000, mayVote: false },
    };
    const push = async (fields: Partial<Notice>) => {
      const rendered = alertmanagerKind.render({ url: alertmanager.url }, { ...notice, ...fields });
      if (rendered === undefined) throw new Error('nothing to send');
      const { url, method, headers, body } = rendered.request;
      const response = await fetch(url, { method, headers, body: body ?? null });
      const answered = { kind: 'answered' as const, status: response.status, headers: {}, body: await response.text() };
      expect(alertmanagerKind.read(answered, notice, Date.parse(at))).toMatchObject({ kind: 'delivered' });
    };
    const shown = async () => {
      const filter = encodeURIComponent('alert_id="pushed"');
      return (await fetch(`${alertmanager.url}/api/v2/alerts?filter=${filter}`)).json();
    };
    await push({});
    expect(await shown()).toMatchObject([
      { labels: { severity: 'critical', agent: 'bot' }, status: { state: 'active' } },
    ]);
    await push({ firing: [], resolved: [{ ...alert, status: 'cancelled' }] });
    await eventually(async () => expect(await shown()).toEqual([]));
  });

  /** What the receivers have got, by trace. */
  function told(): Told[][] {
    const groups = new Map<string, Told & { readonly trace: number }>();
    for (const { path, body } of receiver.requests) {
      const { groupKey, groupLabels, alerts } = JSON.parse(body);
      const { trace, ...group } = groupLabels;
      const key = `${path} ${groupKey}`;
      const one: Told & { readonly trace: number } = groups.get(key) ?? {
        receiver: path.slice(1),
        group,
        notices: [],
        trace: Number(trace),
      };
      groups.set(key, one);
      const idsOf = (status: string) =>
        byName(
          alerts
            .filter((alert: { status: string }) => alert.status === status)
            .map((alert: { labels: { id: string } }) => alert.labels.id),
        );
      one.notices.push({ firing: idsOf('firing'), ended: idsOf('resolved') });
    }
    const byTrace = Map.groupBy(groups.values(), ({ trace }) => trace);
    return traces.map((_, trace) =>
      (byTrace.get(trace) ?? []).map(({ receiver: name, group, notices }) => ({ receiver: name, group, notices })),
    );
  }
});

describeInRealTime('the body that Alertmanager sends to a webhook', () => {
  it('is the body that a channel of its kind sends for the same alerts', async () => {
    const receiver = await recordingServer();
    const route = {
      ...{ receiver: 'keep', group_by: ['severity'], group_wait: '200ms', group_interval: '1s', repeat_interval: '1h' },
      routes: [],
    };
    const webhook = { url: `${receiver.url}/theirs`, send_resolved: true };
    const theirs = await startAlertmanager(
      JSON.stringify({ route, receivers: [{ name: 'keep', webhook_configs: [webhook] }] }),
    );
    try {
      const at = new Date().toISOString();
      const alert = (id: string): Alert => ({
        ...{ id, tenantId: 'acme', kind: 'rule', status: 'pending', severity: 'critical', agentId: `agent of ${id}` },
        ...{ title: 'Spent "too" much', message: `line 1\nline 2 of ${id}`, createdAt: at, version: 1 },
      });
      const notice: Notice = {
        ...{ id: 'n', tenantId: 'acme', channelId: 'keep', reason: 'first', route: 'all', at, more: 0 },
        ...{ group: { severity: 'critical' }, firing: [alert('a'), alert('b')], resolved: [], everyMs: 60_000 },
        ...{ mayVote: false, publicUrl: 'https://lens.example.com' },
      };
      const { request } = alertmanagerKind.render({ url: theirs.url }, notice) ?? {};
      const { method = '', headers = {}, body = '' } = request ?? {};
      expect((await fetch(request?.url ?? '', { method, headers, body })).status).toBe(200);
      const sent = await eventually(async () => JSON.parse(receiver.requests[0]?.body ?? ''));
      const ours = JSON.parse(alertmanagerWebhook.render({ url: receiver.url }, notice)?.request.body ?? 'null');
      expect(Object.keys(ours).toSorted()).toEqual(Object.keys(sent).toSorted());
      // Addresses, and names that each gives by itself.
      const own = { externalURL: 'own', groupKey: 'own', alerts: expect.anything() };
      expect({ ...ours, ...own }).toEqual({ ...sent, ...own });
      const withoutOwn = ({ alerts }: { alerts: { startsAt: string }[] }) =>
        alerts
          .map((one) => ({ ...one, fingerprint: 'own', startsAt: Date.parse(one.startsAt) }))
          .toSorted((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)));
      expect(withoutOwn(ours)).toEqual(withoutOwn(sent));
    } finally {
      await theirs.stop();
      await receiver.close();
    }
  });
});
