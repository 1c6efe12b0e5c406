// A real exporter on a way that loses answers and refuses requests: no span is lost, and none counts twice.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { startPlatform } from '../platform.mjs';
import { startUnreliableWay } from './unreliable-way.mjs';

const SPANS = 200;
const BATCH = 20;
const SERVICE = 'exporter';
const SETTLED_MS = 60_000;

void describe('a real exporter', () => {
  let platform;
  let way;
  before(async () => {
    platform = await startPlatform('in one process');
    way = await startUnreliableWay(platform.url);
  });
  after(async () => {
    await way?.close();
    await platform?.stop();
  });

  void it('loses no span and counts none twice', async () => {
    const exporter = new OTLPTraceExporter({
      url: `${way.url}/v1/traces`,
      headers: { authorization: `Bearer ${platform.key}` },
      timeoutMillis: 60_000,
    });
    const processor = new BatchSpanProcessor(exporter, { maxExportBatchSize: BATCH, exportTimeoutMillis: 60_000 });
    const resource = resourceFromAttributes({ 'service.name': SERVICE });
    const provider = new BasicTracerProvider({ resource, spanProcessors: [processor] });
    for (let n = 0; n < SPANS; n++) {
      provider
        .getTracer('test')
        .startSpan('chat', { attributes: { 'gen_ai.operation.name': 'chat' } })
        .end();
    }
    await provider.shutdown();
    assert.equal(way.lost, SPANS / BATCH);
    assert.equal(way.refused, SPANS / BATCH);

    const until = Date.now() + SETTLED_MS;
    let events = -1;
    while (events !== 3 * SPANS && Date.now() < until) {
      await delay(500);
      const answer = await fetch(`${platform.url}/api/agents/${SERVICE}`, {
        headers: { authorization: `Bearer ${platform.key}` },
      });
      events = (await answer.json()).eventCount;
    }
    // Each span is a trace of its own: a call, a start and an end.
    assert.equal(events, 3 * SPANS);
  });
});
