import { z } from 'zod';
import { operation } from '../operation.ts';

const tag = 'OpenTelemetry';
const Status = z
  .object({ code: z.int().meta({ description: 'A google.rpc.Code.' }), message: z.string() })
  .meta({ id: 'Status', description: 'google.rpc.Status, in the format of the request.' });
const partialSuccess = (rejected: string) =>
  z.object({ partialSuccess: z.object({ [rejected]: z.string(), errorMessage: z.string() }).optional() });

const exporting = { method: 'post', tag, scope: 'ingest', failure: Status } as const;

/* Requests of OTLP/HTTP, in JSON or as application/x-protobuf, gzip allowed; docs/otlp.md. */

export const exportTraces = operation({
  ...exporting,
  id: 'exportTraces',
  path: '/v1/traces',
  summary: 'Takes spans of instrumented agents, which become runs, model calls and tool calls.',
  body: z.looseObject({}).meta({ description: 'An ExportTraceServiceRequest.' }),
  response: partialSuccess('rejectedSpans'),
});

export const exportLogs = operation({
  ...exporting,
  id: 'exportLogs',
  path: '/v1/logs',
  summary: 'Takes log records: evaluations become events, all others are counted and dropped.',
  body: z.looseObject({}).meta({ description: 'An ExportLogsServiceRequest.' }),
  response: partialSuccess('rejectedLogRecords'),
});

export const exportMetrics = operation({
  ...exporting,
  id: 'exportMetrics',
  path: '/v1/metrics',
  summary: 'Takes metrics and drops them: exporters send them unasked.',
  body: z.looseObject({}).meta({ description: 'An ExportMetricsServiceRequest.' }),
  response: z.object({}),
});
