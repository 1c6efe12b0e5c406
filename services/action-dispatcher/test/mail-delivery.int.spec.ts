import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { Readable } from 'node:stream';
import { ChannelDraft, COMMANDS, RoutingDocument } from '@agentlens/contracts';
import { eventually } from '@agentlens/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import { type ParsedMail, simpleParser } from 'mailparser';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { type Dispatching, START } from './dispatching.ts';
import { granted, reviewing } from './reviewing.ts';
import { withReceiver } from './with-receiver.ts';

const at = (seconds: number) => new Date(Date.parse(START) + seconds * 1_000).toISOString();
type RecipientCheck = NonNullable<SMTPServerOptions['onRcptTo']>;

describe('a mail channel, through the queue to a real server', () => {
  let world: Dispatching;
  let review: ReturnType<typeof reviewing>;
  let tenantId = '';
  let tenants = 0;
  let server: SMTPServer | undefined;
  withReceiver((its) => {
    [world, review] = [its, reviewing(its)];
    tenantId = `mailed-${tenants++}`;
  });
  afterEach(() => server?.close());

  async function listen(options: SMTPServerOptions = {}) {
    const mails: ParsedMail[] = [];
    const keep = async (stream: Readable, done: (error?: Error) => void) => {
      mails.push(await simpleParser(stream));
      setImmediate(() => done());
    };
    server = new SMTPServer({
      ...{
        authOptional: true,
        disabledCommands: ['STARTTLS'],
        onData: (stream, _session, done) => void keep(stream, done),
      },
      ...options,
    });
    server.on('error', () => undefined);
    const listening = server.listen(0, '127.0.0.1');
    await once(listening, 'listening');
    return { port: (listening.address() as AddressInfo).port, mails };
  }

  const setUp = async (port: number, fields: object = {}) => {
    await world.start();
    const mail = { kind: 'email', host: '127.0.0.1', port, from: 'lens@example.com', to: ['ops@example.com'] };
    const draft = ChannelDraft.parse({ config: { ...mail, security: 'none', ...fields } });
    granted(await world.bus.request(COMMANDS.setChannel, { tenantId, channelId: 'ops', draft }));
    const document = RoutingDocument.parse({ routes: [{ id: 'all', channels: ['ops'], groupWait: '0s' }] });
    granted(await world.bus.request(COMMANDS.setRoutes, { tenantId, document, by: 'ann' }));
    granted(await review.raise({ tenantId }));
  };
  const deliveries = () =>
    world.db.selectFrom('deliveries').selectAll().where('tenant_id', '=', tenantId).orderBy('order_key').execute();
  const until = (results: readonly string[]) =>
    eventually(async () => {
      const rows = await deliveries();
      expect(rows.map(({ result }) => result).sort((a, b) => a.localeCompare(b))).toEqual(results);
      return rows;
    });
  const refuse =
    (who: string, responseCode: number, times = Number.POSITIVE_INFINITY): RecipientCheck =>
    ({ address }, _session, done) => {
      if (address !== who || times-- <= 0) return done();
      done(Object.assign(new Error('greylisted, come back later'), { responseCode }));
    };

  it('arrives after greylisting, and says meanwhile why it waits and until when', async () => {
    const { port, mails } = await listen({ onRcptTo: refuse('ops@example.com', 451, 1) });
    await setUp(port);
    const [waiting] = await until(['retrying']);
    expect(waiting).toMatchObject({ detail: expect.stringMatching(/SMTP 451.*greylisted/), settled_at: null });
    expect(waiting?.next_attempt_at).toBe(at(1));
    expect(mails).toEqual([]);
    world.clock.set(at(1));
    const [accepted] = await until(['success']);
    expect(mails).toMatchObject([{ messageId: accepted?.receipt, to: { text: 'ops@example.com' } }]);
  });

  it('keeps trying for a server that greylists for five minutes', async () => {
    const { port, mails } = await listen({ onRcptTo: refuse('ops@example.com', 450, 8) });
    await setUp(port);
    let waited = 0;
    for (let attempt = 1; attempt <= 8; attempt++) {
      const next = await eventually(async () => {
        const [row] = await deliveries();
        if (row?.attempts !== attempt || row.next_attempt_at === null) throw new Error('not yet');
        return row.next_attempt_at;
      });
      waited = Date.parse(next) - Date.parse(START);
      world.clock.set(next);
    }
    await until(['success']);
    expect(mails).toHaveLength(1);
    expect(waited).toBe(318_000);
  });

  it('reaches the other recipients when the server refuses one, and says which', async () => {
    const to = ['gone@example.com', 'ops@example.com'];
    const { port, mails } = await listen({ onRcptTo: refuse('gone@example.com', 550) });
    await setUp(port, { to });
    const rows = await until(['failed', 'success']);
    expect(mails.map((mail) => mail.to)).toMatchObject([{ text: 'ops@example.com' }]);
    const refused = rows.find(({ result }) => result === 'failed');
    expect(refused).toMatchObject({
      detail: expect.stringContaining('SMTP 550'),
      action_config: { recipient: 'gone@example.com' },
    });
  });

  it('sends nothing, and says why, to a server that offers no TLS', async () => {
    const seen: string[] = [];
    const onAuth: SMTPServerOptions['onAuth'] = ({ password }, _session, done) => {
      seen.push(String(password));
      done(null, { user: 'u' });
    };
    const { port, mails } = await listen({ allowInsecureAuth: true, onAuth });
    await setUp(port, { security: 'starttls', user: 'u', password: 'hunter22' });
    const [refused] = await until(['failed']);
    expect(refused?.detail).toContain('offers no TLS; nothing was sent');
    expect([mails, seen]).toEqual([[], []]);
  });
});
