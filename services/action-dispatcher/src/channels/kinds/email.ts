import { createHash } from 'node:crypto';
import type { Socket } from 'node:net';
import { visible } from '@agentlens/contracts/visible';
import { createTransport } from 'nodemailer';
import {
  type ChannelOutcome,
  cutText,
  factsOf,
  headline,
  linkToAlert,
  type Notice,
  outcomeText,
  type SpokenChannelKind,
} from '../notice.ts';

interface EmailConfig {
  readonly host: string;
  readonly port: number;
  readonly security: 'tls' | 'starttls' | 'none';
  readonly user?: string | undefined;
  readonly password?: string | undefined;
  readonly from: string;
  readonly to: readonly string[];
}

/** Opens a connection to an address that the egress guard allows. */
export type OpenSocket = (to: { readonly host: string; readonly port: number }) => Promise<Socket>;

/** Within the timeout of an attempt. */
const TIMEOUT_MS = 8_000;

/** One mail to all recipients over SMTP. No link in it decides anything: scanners open links before people do. */
export function createEmailKind(openSocket: OpenSocket): SpokenChannelKind<EmailConfig> {
  return {
    secrets: ['password'],
    shows: 'grouped',
    address: () => null,
    target: ({ to, host }) => `${to.join(', ')} through ${host}`,
    async send(config, notice, { deliveryId }) {
      const transport = createTransport({
        host: config.host,
        port: config.port,
        secure: config.security === 'tls',
        requireTLS: config.security === 'starttls',
        ignoreTLS: config.security === 'none',
        ...{ connectionTimeout: TIMEOUT_MS, greetingTimeout: TIMEOUT_MS, socketTimeout: TIMEOUT_MS },
        ...{ disableFileAccess: true, disableUrlAccess: true },
        ...(config.user === undefined ? {} : { auth: { user: config.user, pass: config.password ?? '' } }),
        getSocket: (_options, done) => void connectTo(openSocket, config, done),
      });
      try {
        const sent = await transport.sendMail(mailFrom(config, notice, deliveryId));
        return readSent(sent);
      } catch (error) {
        return readFailure(error);
      } finally {
        transport.close();
      }
    },
  };
}

type SocketGiven = (error: Error | null, options: { readonly connection?: Socket }) => void;

/** Calls back outside the promise, so that an error in the callback does not call it a second time. */
async function connectTo(openSocket: OpenSocket, { host, port }: EmailConfig, done: SocketGiven): Promise<void> {
  try {
    const connection = await openSocket({ host, port });
    setImmediate(() => done(null, { connection }));
  } catch (error) {
    setImmediate(() => done(error instanceof Error ? error : new Error('no connection'), {}));
  }
}

function mailFrom({ from, to }: EmailConfig, notice: Notice, deliveryId: string) {
  const [first] = [...notice.firing, ...notice.resolved];
  const link = linkToAlert(notice, first);
  const lines = [
    ...notice.firing.flatMap((alert) => [
      `[${alert.severity}] ${visible(alert.title)}`,
      visible(alert.message),
      factsOf(alert),
      '',
    ]),
    ...notice.resolved.flatMap((alert) => [`${visible(alert.title)}: ${outcomeText(alert)}`, factsOf(alert), '']),
    ...(notice.more === 0 ? [] : [`and ${notice.more} more`, '']),
    ...(notice.reason === 'test' ? ['This is a test.', ''] : []),
    ...(link === undefined ? [] : [`Open: ${link}`]),
  ];
  const domain = from.slice(from.lastIndexOf('@') + 1);
  const thread = createHash('sha256')
    .update(JSON.stringify([notice.tenantId, notice.channelId, notice.group, first?.id]))
    .digest('hex');
  return {
    from: { name: 'AgentLens', address: from },
    // Objects, never joined text: a comma in a text would add a recipient.
    to: to.map((address) => ({ name: '', address })),
    subject: cutText(visible(headline(notice)).replaceAll(/\s+/g, ' '), 200),
    text: lines.join('\n'),
    messageId: `<${deliveryId}@${domain}>`,
    references: `<${thread.slice(0, 32)}@${domain}>`,
    headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
  };
}

interface Sent {
  readonly accepted: readonly unknown[];
  readonly rejected: readonly unknown[];
  readonly response: string;
  readonly messageId: string;
}

/** Recipients that the server refuses do not get the mail again: the others have it. */
function readSent({ accepted, rejected, response, messageId }: Sent): ChannelOutcome {
  const refused = rejected.length === 0 ? '' : `; refused: ${rejected.map(String).join(', ')}`;
  return {
    kind: 'delivered',
    detail: `${accepted.length} accepted: ${visible(response)}${refused}`,
    receipt: messageId,
  };
}

/** Codes of errors of nodemailer that a person has to remove. */
const FINAL = new Set(['EAUTH', 'ENOAUTH', 'EENVELOPE_FINAL']);

function readFailure(error: unknown): ChannelOutcome {
  const { code, responseCode, message } = fieldsOf(error);
  const reason = `SMTP${responseCode === undefined ? '' : ` ${responseCode}`}: ${visible(message).slice(0, 200)}`;
  if (code === 'AddressRefused') return { kind: 'rejected', reason };
  if (code === 'ETLS') return { kind: 'rejected', reason: `${reason} (the server offers no TLS; nothing was sent)` };
  // A greylisting server answers 450 or 451 at first, and accepts the repetition.
  if (responseCode !== undefined && responseCode >= 400 && responseCode < 500)
    return { kind: 'retry', reason, destinationDown: false };
  if (responseCode !== undefined && responseCode >= 500) return { kind: 'rejected', reason };
  if (code !== undefined && FINAL.has(code)) return { kind: 'rejected', reason };
  return { kind: 'retry', reason, destinationDown: true };
}

function fieldsOf(error: unknown): { code?: string; responseCode?: number; message: string } {
  if (!(error instanceof Error)) return { message: 'the mail could not be sent' };
  const code =
    error.name === 'AddressRefused'
      ? error.name
      : 'code' in error && typeof error.code === 'string'
        ? error.code
        : undefined;
  const responseCode =
    'responseCode' in error && typeof error.responseCode === 'number' ? error.responseCode : undefined;
  return {
    message: error.message,
    ...(code === undefined ? {} : { code }),
    ...(responseCode === undefined ? {} : { responseCode }),
  };
}
