// A real exporter, through gateways that are killed: no span is lost, and none counts twice.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { startPlatform } from './platform.mjs';

const SPANS = 600;
const BATCH = 20;
const SERVICE = 'exporter';
const SETTLED_MS = 60_000;

void describe('a real exporter', () => {
  let platform;
  before(async () => {
    platform = await startPlatform('as five services');
  });
  after(() => platform?.stop());

  void it('loses no span and counts none twice while gateways are killed', async () => {
    const exporter = new OTLPTraceExporter({
      url: `${platform.url}/v1/traces`,
      headers: { authorization: `Bearer ${platform.key}` },
      timeoutMillis: 60_000,
    });
    const provider = new BasicTracerProvider({
      resource: resourceFromAttributes({ 'service.name': SERVICE }),
      spanProcessors: [
        new BatchSpanProcessor(exporter, {
          maxExportBatchSize: BATCH,
          maxQueueSize: SPANS * 2,
          exportTimeoutMillis: 90_000,
        }),
      ],
    });
    const tracer = provider.getTracer('test');
    const killed = [];
    for (let n = 0; n < SPANS; n++) {
      const span = tracer.startSpan('chat', {
        attributes: {
          'gen_ai.operation.name': 'chat',
          'gen_ai.request.model': 'gpt-4o-mini',
          'gen_ai.usage.input_tokens': 1,
          'gen_ai.usage.output_tokens': 1,
        },
      });
      span.end();
      if (n % 200 === 100) {
        killed.push(platform.pidOf('ingest'));
        process.kill(killed.at(-1), 'SIGKILL');
      }
      await delay(10);
    }
    await provider.shutdown();

    const until = Date.now() + SETTLED_MS;
    let spans = -1;
    while (spans !== SPANS && Date.now() < until) {
      await delay(500);
      const answer = await fetch(`${platform.url}/api/agents/${SERVICE}`, {
        headers: { authorization: `Bearer ${platform.key}` },
      });
      // Each span is a trace of its own: a call, a start and an end.
      spans = (await answer.json()).eventCount / 3;
    }
    assert.equal(spans, SPANS);
    assert.equal(new Set(killed).size, 3);
  });
});
