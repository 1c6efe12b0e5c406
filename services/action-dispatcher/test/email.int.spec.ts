import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { Readable } from 'node:stream';
import type { Alert } from '@agentlens/contracts';
import { createMailConnector } from '@agentlens/egress';
import { afterEach, describe, expect, it } from '@jest/globals';
import { type ParsedMail, simpleParser } from 'mailparser';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { createEmailKind } from '../src/channels/kinds/email.ts';
import type { Notice } from '../src/channels/notice.ts';

const ALERT: Alert = {
  ...{ id: 'alert-1', tenantId: 'acme', kind: 'rule', status: 'pending', severity: 'critical', agentId: 'agent-1' },
  ...{
    title: 'Spent\u202e too\r\nBcc: eve@example.com',
    message: 'Look',
    createdAt: '2026-03-01T12:00:00.000Z',
    version: 1,
  },
};
const NOTICE: Notice = {
  ...{
    id: 'notice-1',
    tenantId: 'acme',
    channelId: 'ops',
    reason: 'first',
    route: 'all',
    at: ALERT.createdAt,
    group: {},
  },
  ...{ firing: [ALERT], resolved: [], more: 0, everyMs: 0, mayVote: false, publicUrl: 'https://lens.example.com' },
};

describe('e-mail', () => {
  let server: SMTPServer | undefined;
  afterEach(() => server?.close());

  async function listen(options: SMTPServerOptions) {
    const mails: ParsedMail[] = [];
    const keep = async (stream: Readable, done: (error?: Error) => void) => {
      mails.push(await simpleParser(stream));
      setImmediate(() => done());
    };
    server = new SMTPServer({
      ...{ authOptional: true, disabledCommands: ['STARTTLS'] },
      onData(stream, _session, done) {
        void keep(stream, done);
      },
      ...options,
    });
    server.on('error', () => undefined);
    const listening = server.listen(0, '127.0.0.1');
    await once(listening, 'listening');
    return { port: (listening.address() as AddressInfo).port, mails };
  }

  const kind = createEmailKind(createMailConnector({ allow: ['127.0.0.1/32'] }));
  const send = (port: number, config: object = {}) =>
    kind.send(
      { host: '127.0.0.1', port, security: 'none', from: 'lens@example.com', to: ['ops@example.com'], ...config },
      NOTICE,
      { deliveryId: 'delivery-1' },
    );
  const refusing = (responseCode: number) => (_address: unknown, _session: unknown, done: (error?: Error) => void) =>
    done(Object.assign(new Error('not now'), { responseCode }));

  it('arrives with the same id on every attempt, and with no header that an agent wrote', async () => {
    const { port, mails } = await listen({});
    expect(await send(port)).toMatchObject({ kind: 'delivered', receipt: '<delivery-1@example.com>' });
    await send(port);
    const [mail, again] = mails;
    expect(mail).toMatchObject({
      messageId: '<delivery-1@example.com>',
      subject: '[critical] Spent\\u202e too\\u000d Bcc: eve@example.com',
    });
    expect(again?.messageId).toBe(mail?.messageId);
    expect(mail?.bcc).toBeUndefined();
    expect(mail?.headers.get('auto-submitted')).toBe('auto-generated');
    expect(mail?.text).toContain('https://lens.example.com/alerts?id=alert-1');
  });

  it('is tried again after greylisting, and then arrives', async () => {
    let asked = 0;
    const { port, mails } = await listen({
      onRcptTo: (address, session, done) => (asked++ === 0 ? refusing(451)(address, session, done) : done()),
    });
    expect(await send(port)).toMatchObject({
      kind: 'retry',
      reason: expect.stringContaining('SMTP 451'),
      destinationDown: false,
    });
    expect(await send(port)).toMatchObject({ kind: 'delivered' });
    expect(mails).toHaveLength(1);
  });

  it('is given up when the server refuses the recipient for good', async () => {
    const { port } = await listen({ onRcptTo: refusing(550) });
    expect(await send(port)).toMatchObject({ kind: 'rejected', reason: expect.stringContaining('SMTP 550') });
  });

  it('never sends a password to a server that offers no TLS', async () => {
    const passwords: unknown[] = [];
    const { port } = await listen({
      allowInsecureAuth: true,
      onAuth: (auth, _session, done) => {
        passwords.push(auth.password);
        done(null, { user: 'u' });
      },
    });
    const config = { security: 'starttls', user: 'u', password: 'hunter22' };
    expect(await send(port, config)).toMatchObject({ kind: 'rejected', reason: expect.stringContaining('no TLS') });
    expect(passwords).toEqual([]);
  });

  it('connects to no address that the guard refuses', async () => {
    const guarded = createEmailKind(createMailConnector({ allow: [] }));
    const config = {
      host: '127.0.0.1',
      port: 25,
      security: 'none',
      from: 'a@example.com',
      to: ['b@example.com'],
    } as const;
    expect(await guarded.send(config, NOTICE, { deliveryId: 'd' })).toMatchObject({
      kind: 'rejected',
      reason: expect.stringContaining('AGENTLENS_EGRESS_ALLOW'),
    });
  });
});
