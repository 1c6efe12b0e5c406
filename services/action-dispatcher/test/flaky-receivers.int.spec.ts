import { ChannelDraft, COMMANDS, RoutingDocument } from '@agentlens/contracts';
import { eventually, type RecordedRequest, type RecordingServer } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Dispatching } from './dispatching.ts';
import { granted, reviewing } from './reviewing.ts';
import { withReceiver } from './with-receiver.ts';

const APPROVALS = 8;
const DAY_S = 86_400;
/** Longer than a rest of a breaker and than the shortest pauses, shorter than a lease. */
const STEP_MS = 20_000;
/** How a receiver fails: it is busy, it is broken, it refuses for now, or it takes a request and its answer is lost. */
const FAULTS = ['none', 'none', 'busy', 'broken', 'refuses', 'silent'] as const;
type Fault = (typeof FAULTS)[number];
/** Fewer than a page has attempts, so that no notice is given up. */
const MAX_FAULTS = 5;

interface Message {
  readonly channel: string;
  text: string;
  hasButtons: boolean;
}

/** Two Slack workspaces behind one server. Each request meets the next fault. */
function openWorkspaces(server: RecordingServer, faults: Iterator<Fault, undefined>): ReadonlyMap<string, Message> {
  const messages = new Map<string, Message>();
  const failed = new Map<string, number>();
  const chooseFault = ({ headers }: RecordedRequest): Fault => {
    const id = String(headers['webhook-id']);
    const fault = faults.next().value ?? 'none';
    const before = failed.get(id) ?? 0;
    if (fault === 'none' || before >= MAX_FAULTS) return 'none';
    failed.set(id, before + 1);
    return fault;
  };
  const take = ({ path, body }: RecordedRequest): object => {
    const [, channel = '', method = ''] = path.split('/');
    const fields = JSON.parse(body) as { text: string; ts?: string; blocks: object[] };
    const shown = { channel, text: fields.text, hasButtons: body.includes('agentlens_approve') };
    const ts = method === 'chat.update' ? (fields.ts ?? '') : `17.${messages.size + 1}`;
    if (method === 'chat.update' && !messages.has(ts)) return { ok: false, error: 'message_not_found' };
    messages.set(ts, shown);
    return { ok: true, ts };
  };
  server.answer((request, response) => {
    const fault = chooseFault(request);
    if (fault === 'busy') return void response.writeHead(429).end();
    if (fault === 'broken') return void response.writeHead(500).end();
    if (fault === 'refuses') return void response.writeHead(200).end('{"ok":false,"error":"internal_error"}');
    const answer = take(request);
    if (fault === 'silent') return void response.destroy();
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  });
  return messages;
}

describe('Slack channels whose receiver fails', () => {
  let world: Dispatching;
  let receiver: RecordingServer;
  let review: ReturnType<typeof reviewing>;
  let tenantId = '';
  let tenants = 0;
  withReceiver((its, receiving) => {
    [world, receiver, review] = [its, receiving, reviewing(its)];
    tenantId = `flaky-${tenants++}`;
  });

  const unsettled = () =>
    world.db
      .selectFrom('deliveries')
      .select(['delivery_id', 'attempts', 'detail', 'next_attempt_at'])
      .where('tenant_id', '=', tenantId)
      .where('settled_at', 'is', null)
      .execute();

  /** Lets the clock run until everything that is owed was sent. */
  const settle = () =>
    eventually(async () => {
      const open = await unsettled();
      if (open.length === 0) return;
      world.clock.set(new Date(world.clock.now() + STEP_MS).toISOString());
      throw new Error(JSON.stringify(open.slice(0, 3)));
    });

  it.each(fc.sample(fc.integer(), 1))(
    'show every outcome in every message they know, while dispatchers restart (seed %i)',
    async (seed) => {
      const sequence = fc.sample(fc.constantFrom(...FAULTS), { seed, numRuns: 2_000 });
      const messages = openWorkspaces(receiver, sequence.values());
      const running = [await world.start(), await world.start()];
      const restart = async () => {
        await running.shift()?.stop();
        running.push(await world.start());
      };
      const slack = { kind: 'slack_app', botToken: 'xoxb-1', signingSecret: 's', workspace: 'T1', channel: 'C1' };
      for (const [channelId, fallback] of [['spare'], ['ops', 'spare']]) {
        const config = { ...slack, apiUrl: `${receiver.url}/${channelId ?? ''}` };
        const draft = ChannelDraft.parse({ config, ...(fallback === undefined ? {} : { fallback }) });
        granted(await world.bus.request(COMMANDS.setChannel, { tenantId, channelId: channelId ?? '', draft }));
      }
      const document = RoutingDocument.parse({ routes: [{ id: 'all', channels: ['ops'] }] });
      granted(await world.bus.request(COMMANDS.setRoutes, { tenantId, document, by: 'ann' }));

      const asked: string[] = [];
      for (let n = 0; n < APPROVALS; n++) {
        const fields = { tenantId, expiresInSeconds: DAY_S, call: { arguments: '{}' } };
        asked.push(granted(await review.resolve(review.binding({ runId: `run-${n}-${tenantId}` }), fields)).id);
        if (n % 4 === 3) await restart();
      }
      // Some are decided before they were shown, some after a fallback has shown them.
      for (const [n, id] of asked.entries()) {
        if (n === APPROVALS / 2) await settle();
        granted(await review.decide(id, n % 2 === 0 ? 'approve' : 'deny', { tenantId }));
        if (n % 4 === 1) await restart();
      }
      await settle();

      const rows = await world.db
        .selectFrom('deliveries as d')
        .innerJoin('notices as n', (join) =>
          join.onRef('n.tenant_id', '=', 'd.tenant_id').onRef('n.delivery_id', '=', 'd.delivery_id'),
        )
        .innerJoin('notice_alerts as a', (join) =>
          join.onRef('a.tenant_id', '=', 'n.tenant_id').onRef('a.notice_id', '=', 'n.notice_id'),
        )
        .select(['a.alert_id', 'n.channel_id', 'd.receipt', 'd.result'])
        .where('d.tenant_id', '=', tenantId)
        .execute();
      const known = new Map(
        rows.flatMap((row) => (row.receipt === null ? [] : [[row.receipt, row.alert_id] as const])),
      );
      for (const [ts, alertId] of known) {
        const outcome = asked.indexOf(alertId) % 2 === 0 ? 'Approval approved' : 'Approval denied';
        expect({ ts, ...messages.get(ts) }).toMatchObject({
          text: expect.stringContaining(outcome),
          hasButtons: false,
        });
      }
      // Every approval has one: none was lost.
      expect(new Set(known.values())).toEqual(new Set(asked));
      expect(rows.filter(({ result }) => result !== 'success')).toEqual([]);
    },
  );
});
