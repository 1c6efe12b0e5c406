import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { LoadReport } from '../harness/generate-load.ts';
import { Latencies } from '../harness/statistics.ts';
import { monotonicMs, until } from '../harness/time.ts';
import type { Aftermath } from './measure-load.ts';

const DEADLINE_MS = 60_000;

/** Receives webhooks, returns 200, and records when the first byte of each marker's webhook arrived. */
export class WebhookSink {
  private readonly server: Server;
  private readonly seenAt = new Map<number, number>();
  private received = 0;

  private constructor(server: Server) {
    this.server = server;
    server.on('request', (message, response) => {
      const at = monotonicMs();
      const chunks: Buffer[] = [];
      message.on('data', (chunk: Buffer) => chunks.push(chunk));
      message.on('end', () => {
        response.end();
        const { conditionValue } = JSON.parse(Buffer.concat(chunks).toString()) as { readonly conditionValue: number };
        this.received += 1;
        if (!this.seenAt.has(conditionValue - 1)) this.seenAt.set(conditionValue - 1, at);
      });
    });
  }

  static async open(): Promise<WebhookSink> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new WebhookSink(server);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/hook`;
  }

  forget(): void {
    this.seenAt.clear();
    this.received = 0;
  }

  /** Waits for the webhook of every accepted marker and times it from when its request was sent. */
  async compare({ markers }: LoadReport): Promise<Aftermath> {
    const sent = Object.entries(markers).map(([serial, at]) => ({ serial: Number(serial), at }));
    const missing = () => sent.some(({ serial }) => !this.seenAt.has(serial));
    await until('webhooks', async () => (missing() ? undefined : true), DEADLINE_MS);
    const latencies = new Latencies();
    for (const { serial, at } of sent) latencies.record(((this.seenAt.get(serial) ?? at) - at) * 1000);
    return {
      latency: { webhook: latencies.summary() },
      checks: [{ name: 'webhooks received', expected: sent.length, actual: this.received }],
    };
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}
