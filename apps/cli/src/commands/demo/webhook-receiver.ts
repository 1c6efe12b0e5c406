import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export interface Delivered {
  /** True if the signature is valid. */
  readonly genuine: boolean;
  readonly id: string;
  readonly message: string;
}

export interface WebhookReceiver {
  readonly url: string;
  readonly secret: string;
  stop(): void;
}

/** A Standard Webhooks receiver on this machine, as a customer would write one. */
export async function startWebhookReceiver(onDelivery: (delivered: Delivered) => void): Promise<WebhookReceiver> {
  const key = randomBytes(24);
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const genuine = isSigned(request.headers, body, key);
      response.writeHead(genuine ? 204 : 401).end();
      onDelivery({ genuine, id: String(request.headers['webhook-id']), message: messageOf(body) });
    });
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/hooks/agentlens`,
    secret: `whsec_${key.toString('base64')}`,
    stop: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

function isSigned(headers: IncomingHttpHeaders, body: string, key: Buffer): boolean {
  const header = (name: string) => String(headers[name]);
  const signed = `${header('webhook-id')}.${header('webhook-timestamp')}.${body}`;
  const expected = createHmac('sha256', key).update(signed).digest();
  return header('webhook-signature')
    .split(' ')
    .filter((signature) => signature.startsWith('v1,'))
    .map((signature) => Buffer.from(signature.slice(3), 'base64'))
    .some((signature) => signature.length === expected.length && timingSafeEqual(signature, expected));
}

function messageOf(body: string): string {
  const { message, guardrailName } = JSON.parse(body) as { message?: string; guardrailName?: string };
  return message ?? guardrailName ?? 'no message';
}
