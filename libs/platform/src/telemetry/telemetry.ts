import type { IncomingMessage, ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import type { Meter } from '@opentelemetry/api';
import type { PrometheusExporter } from '@opentelemetry/exporter-prometheus';
import type { MeterProvider } from '@opentelemetry/sdk-metrics';
import type { NodeSDK } from '@opentelemetry/sdk-node';

/** Interval of the probe. The delay is how late its timer fires. */
const RESOLUTION_MS = 100;
const NANOS_PER_MS = 1_000_000;

/** Reports event loop delay and utilisation between two scrapes. */
function observeEventLoop(meter: Meter): void {
  const intervals = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  intervals.enable();
  meter
    .createObservableGauge('agentlens.process.event_loop_delay', {
      description: 'Event loop delay, p99 since the last scrape',
      unit: 'ms',
    })
    .addCallback((result) => {
      result.observe(Math.max(0, intervals.percentile(99) / NANOS_PER_MS - RESOLUTION_MS));
      intervals.reset();
    });
  let before = performance.eventLoopUtilization();
  meter
    .createObservableGauge('agentlens.process.event_loop_utilization', {
      description: 'Event loop utilisation since the last scrape, 0 to 1',
    })
    .addCallback((result) => {
      const now = performance.eventLoopUtilization();
      result.observe(performance.eventLoopUtilization(now, before).utilization);
      before = now;
    });
}

type Env = Readonly<Record<string, string | undefined>>;

const load = createRequire(import.meta.url);

/** Query parameters that hold keys, ours and those of stores that webhooks may call. */
const SECRET_PARAMETERS = [
  ...['token', 'ticket', 'key', 'api_key', 'apikey', 'access_token', 'secret', 'sig', 'signature', 'Signature'],
  ...['AWSAccessKeyId', 'X-Goog-Signature', 'X-Amz-Signature', 'X-Amz-Credential', 'X-Amz-Security-Token'],
];

let exporter: PrometheusExporter | undefined;
let sdk: NodeSDK | undefined;

/**
 * Starts telemetry as the standard OTEL_* variables configure it. Metrics are always collected for `/metrics`; traces
 * only with an endpoint or exporter, because loading the tracing SDK takes a third of a second and 30 MB. Must run
 * before http, pg and ioredis are loaded, so packages are loaded here synchronously.
 */
export function startTelemetry(serviceName: string, env: Env): void {
  if (exporter !== undefined || env.OTEL_SDK_DISABLED === 'true') return;
  const { PrometheusExporter } = load(
    '@opentelemetry/exporter-prometheus',
  ) as typeof import('@opentelemetry/exporter-prometheus');
  exporter = new PrometheusExporter({ preventServerStart: true });
  const name = env.OTEL_SERVICE_NAME ?? `agentlens-${serviceName}`;
  const { metrics } = load('@opentelemetry/api') as typeof import('@opentelemetry/api');
  if (wantsTraces(env) || wantsOtlpMetrics(env)) startSdk(name, env, exporter);
  else metrics.setGlobalMeterProvider(plainProvider(name, exporter));
  observeEventLoop(metrics.getMeter('agentlens'));
}

/** Metrics without traces. */
function plainProvider(name: string, reader: PrometheusExporter): MeterProvider {
  const { MeterProvider } = load('@opentelemetry/sdk-metrics') as typeof import('@opentelemetry/sdk-metrics');
  const { resourceFromAttributes } = load('@opentelemetry/resources') as typeof import('@opentelemetry/resources');
  const resource = resourceFromAttributes({ 'service.name': name });
  return new MeterProvider({ resource, readers: [reader] });
}

/** Flushes buffered telemetry. */
export async function stopTelemetry(): Promise<void> {
  await sdk?.shutdown().catch(() => undefined);
}

/** Answers a scrape in the Prometheus text format. */
export function answerMetrics(request: IncomingMessage, response: ServerResponse): void {
  if (exporter === undefined) {
    response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4' }).end('');
    return;
  }
  exporter.getMetricsRequestHandler(request, response);
}

function wantsTraces(env: Env): boolean {
  if (env.OTEL_TRACES_EXPORTER !== undefined) return env.OTEL_TRACES_EXPORTER !== 'none';
  return env.OTEL_EXPORTER_OTLP_ENDPOINT !== undefined || env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT !== undefined;
}

function wantsOtlpMetrics(env: Env): boolean {
  return env.OTEL_METRICS_EXPORTER?.split(',').includes('otlp') === true;
}

function startSdk(serviceName: string, env: Env, prometheus: PrometheusExporter): void {
  const { NodeSDK } = load('@opentelemetry/sdk-node') as typeof import('@opentelemetry/sdk-node');
  const { HttpInstrumentation } = load(
    '@opentelemetry/instrumentation-http',
  ) as typeof import('@opentelemetry/instrumentation-http');
  const { PgInstrumentation } = load(
    '@opentelemetry/instrumentation-pg',
  ) as typeof import('@opentelemetry/instrumentation-pg');
  const { IORedisInstrumentation } = load(
    '@opentelemetry/instrumentation-ioredis',
  ) as typeof import('@opentelemetry/instrumentation-ioredis');
  sdk = new NodeSDK({
    serviceName,
    logRecordProcessors: [],
    metricReaders: [prometheus, ...(wantsOtlpMetrics(env) ? [otlpMetrics()] : [])],
    ...(wantsTraces(env) ? {} : { spanProcessors: [] }),
    instrumentations: [
      new HttpInstrumentation({
        // Probes and scrapes would dominate the traces.
        ignoreIncomingRequestHook: (request) => /^\/(healthz|readyz|metrics)/.test(request.url ?? ''),
        redactedQueryParams: SECRET_PARAMETERS,
        redactedQueryParamsServer: SECRET_PARAMETERS,
      }),
      new PgInstrumentation({ requireParentSpan: true }),
      new IORedisInstrumentation({ requireParentSpan: true }),
    ],
  });
  sdk.start();
}

function otlpMetrics() {
  const { PeriodicExportingMetricReader } = load(
    '@opentelemetry/sdk-metrics',
  ) as typeof import('@opentelemetry/sdk-metrics');
  const { OTLPMetricExporter } = load(
    '@opentelemetry/exporter-metrics-otlp-proto',
  ) as typeof import('@opentelemetry/exporter-metrics-otlp-proto');
  return new PeriodicExportingMetricReader({ exporter: new OTLPMetricExporter() });
}
