import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { monotonicMs } from '../harness/time.ts';

export interface Webhook {
  readonly path: string;
  readonly id: string;
  readonly body: { readonly agentId?: string; readonly conditionValue?: number };
  readonly atMs: number;
}

/** Handles one webhook, including the response. */
export type Behaviour = (webhook: Webhook, response: ServerResponse, request: IncomingMessage) => void;

/** Counts received webhooks by id, and responds as configured. */
export class WebhookReceiver {
  private readonly server: Server;
  private readonly all: Webhook[] = [];
  private behaviour: Behaviour = answerOk;

  private constructor(server: Server) {
    this.server = server;
    server.on('request', (request, response) => {
      const atMs = monotonicMs();
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('error', () => undefined);
      request.on('end', () => {
        const body = JSON.parse(Buffer.concat(chunks).toString() || '{}') as Webhook['body'];
        const webhook = { path: request.url ?? '', id: String(request.headers['webhook-id']), body, atMs };
        this.all.push(webhook);
        this.behaviour(webhook, response, request);
      });
    });
  }

  static async open(): Promise<WebhookReceiver> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new WebhookReceiver(server);
  }

  url(path: string): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}${path}`;
  }

  answer(behaviour: Behaviour = answerOk): void {
    this.behaviour = behaviour;
  }

  /** Webhooks for the agents of one load. */
  of(label: string): readonly Webhook[] {
    return this.all.filter(({ body }) => body.agentId?.startsWith(`${label}-`) ?? false);
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

function answerOk(_webhook: Webhook, response: ServerResponse): void {
  response.end();
}

/** Number of receipts per webhook id. */
export function countsById(webhooks: readonly Webhook[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { id } of webhooks) counts.set(id, (counts.get(id) ?? 0) + 1);
  return counts;
}
