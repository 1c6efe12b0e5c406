import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type AgentEvent, agentEvents } from '@agentlens/contracts';
import { type EventBus, each } from '@agentlens/messaging';
import { ensureBootstrapKey } from '@agentlens/platform';
import {
  eventually,
  type FreshDatabase,
  freshDatabase,
  startNats,
  startRedis,
  type TestServer,
} from '@agentlens/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { DiagLogLevel, diag } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { hangingConsumer, startGateway } from './gateway.ts';
import { type GatewayInstance, openInstance } from './gateway-instance.ts';

const SPANS = 60;
const BATCH = 10;
/** A span without a parent is a call, a start and an end. */
const EVENTS = 3 * SPANS;

/** Ends this many model calls and resolves when the exporter has finished with them, including retries. */
async function exportSpans(url: string, key: string): Promise<void> {
  const headers = { authorization: `Bearer ${key}` };
  const exporter = new OTLPTraceExporter({ url: `${url}/v1/traces`, headers, timeoutMillis: 60_000 });
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'exporter' }),
    spanProcessors: [new BatchSpanProcessor({ exporter, maxExportBatchSize: BATCH, exportTimeoutMillis: 60_000 })],
  });
  const tracer = provider.getTracer('test');
  for (let n = 0; n < SPANS; n++) {
    tracer.startSpan('chat', { root: true, attributes: { 'gen_ai.operation.name': 'chat' } }).end();
  }
  await provider.shutdown();
}

/** The statuses of all answers, in order. */
function statusesOf(app: NestFastifyApplication): readonly number[] {
  const statuses: number[] = [];
  const server: Server = app.getHttpServer();
  server.on('request', (_, response) => response.once('finish', () => statuses.push(response.statusCode)));
  return statuses;
}

/** One line for each retry that an exporter schedules. */
function retriesOfExporters(): readonly string[] {
  const lines: string[] = [];
  const ignore = () => undefined;
  const verbose = (line: string) => void (line.startsWith('Scheduling export retry') && lines.push(line));
  diag.setLogger({ verbose, debug: ignore, info: ignore, warn: ignore, error: ignore }, DiagLogLevel.VERBOSE);
  return lines;
}

async function listen(app: NestFastifyApplication, port = 0): Promise<number> {
  await app.listen(port, '127.0.0.1');
  const server: Server = app.getHttpServer();
  return (server.address() as AddressInfo).port;
}

/** Every event once, regardless of repetition. An id with two contents or times appears twice. */
const distinct = (events: readonly AgentEvent[]) =>
  new Set(events.map(({ id, occurredAt, hash }) => `${id} ${occurredAt} ${hash}`));

describe('a real exporter', () => {
  it('loses no span and stores none twice while the gateway is full', async () => {
    const gateway = await startGateway({ bus: { publishDeadlineMs: 20 } });
    const consumer = await hangingConsumer(gateway.bus);
    const statuses = statusesOf(gateway.app);
    const port = await listen(gateway.app);
    const exported = exportSpans(`http://127.0.0.1:${port}`, gateway.keys.ingest);
    await eventually(() => expect(statuses).toContain(503));
    consumer.release();
    await exported;
    expect(distinct(gateway.events()).size).toBe(EVENTS);
    expect(new Set(gateway.events().map(({ id }) => id)).size).toBe(EVENTS);
    await gateway.close();
  });

  describe('on real servers', () => {
    let nats: TestServer;
    let redis: TestServer;
    let database: FreshDatabase;
    let gateway: GatewayInstance;
    let key: string;
    let stored: AgentEvent[];

    beforeAll(async () => {
      [nats, redis, database] = await Promise.all([startNats(), startRedis(), freshDatabase()]);
    });
    afterAll(() => Promise.all([nats.stop(), redis.stop(), database.drop()]));
    beforeEach(async () => {
      gateway = await openInstance({ nats, redis, database });
      key ??= (await ensureBootstrapKey(gateway.platform)) ?? '';
      stored = [];
      await keepEvents(gateway.platform.bus);
    });
    afterEach(() => gateway.close());

    async function keepEvents(bus: EventBus): Promise<void> {
      await bus.consume(
        agentEvents,
        { group: 'recorder' },
        each(async ({ value }) => {
          stored.push(...value.events);
          return { kind: 'ack' };
        }),
      );
    }

    async function allStored(): Promise<void> {
      await eventually(() => expect(distinct(stored).size).toBe(EVENTS), { timeoutMs: 30_000 });
      expect(new Set(stored.map(({ id }) => id)).size).toBe(EVENTS);
    }

    it('loses no span and stores none twice while the broker is unavailable', async () => {
      const statuses = statusesOf(gateway.app);
      const port = await listen(gateway.app);
      await nats.kill();
      const exported = exportSpans(`http://127.0.0.1:${port}`, key);
      await eventually(() => expect(statuses).toContain(503), { timeoutMs: 30_000 });
      await nats.start();
      await exported;
      await allStored();
    });

    it('loses no span and stores none twice while the gateway restarts', async () => {
      const next = await openInstance({ nats, redis, database });
      // Ready except for its port: an exporter tries five times and gives up, and a start may be slow here.
      await next.app.init();
      const port = await listen(gateway.app);
      await gateway.app.close();
      const retries = retriesOfExporters();
      const exported = exportSpans(`http://127.0.0.1:${port}`, key);
      await eventually(() => expect(retries.length).toBeGreaterThan(0));
      await listen(next.app, port);
      await exported;
      await allStored();
      await next.close();
    });
  });
});
