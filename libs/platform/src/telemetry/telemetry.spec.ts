import { createServer } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import { metrics } from '@opentelemetry/api';
import { answerMetrics, startTelemetry } from './telemetry.ts';

async function scrape(): Promise<string> {
  const server = createServer(answerMetrics);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = address !== null && typeof address === 'object' ? address.port : 0;
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  server.close();
  return text;
}

describe('metrics', () => {
  it('are empty while nothing is collected', async () => {
    expect(await scrape()).toBe('');
  });

  it('have the Prometheus format and the name of the service after the start', async () => {
    startTelemetry('ingest', {});
    metrics.getMeter('agentlens').createCounter('agentlens_sample_total').add(2, { outcome: 'kept' });
    const text = await scrape();
    expect(text).toMatch(/^agentlens_sample_total\{.*outcome="kept".*\} 2/m);
    expect(text).toContain('service_name="agentlens-ingest"');
    expect(text).toMatch(/^agentlens_process_event_loop_delay(\{.*\})? \d/m);
    expect(text).toMatch(/^agentlens_process_event_loop_utilization(\{.*\})? \d/m);
  });
});
