import { JsonObject, Problem, SEVERITIES } from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation } from '../operation.ts';

/** Client-chosen name of a request; repeating the request returns the first answer. */
export const IdempotencyHeaders = z.object({
  'idempotency-key': z
    .string()
    .regex(/^[\x21-\x7e][\x20-\x7e]{0,254}$/, 'must be 1-255 printable ASCII characters')
    .optional()
    .meta({ description: 'Identifies the request for 24 hours; a repeated request is executed once.' }),
});

const IncomingEvent = z
  .looseObject({
    sessionId: z.string(),
    agentId: z.string(),
    eventType: z.string().meta({ description: 'session_started, tool_call, llm_response, custom, ...' }),
    severity: z.enum([...SEVERITIES, 'warning']).optional(),
    payload: JsonObject,
    metadata: JsonObject.optional(),
    timestamp: z.iso.datetime({ offset: true }).optional(),
    id: z.string().optional().meta({ description: 'Idempotency key of the event.' }),
    tags: z.array(z.string()).optional(),
  })
  .meta({ id: 'IncomingEvent' });

const Warnings = z
  .array(z.object({ path: z.string(), message: z.string() }))
  .optional()
  .meta({ description: 'What was repaired so that the event could be stored.' });

/** Served by the ingest gateway at the same address. */
export const ingestEvents = operation({
  id: 'ingestEvents',
  method: 'post',
  path: '/api/events',
  tag: 'Events',
  summary: 'Store events. 201 once they are durable; with partial=true, 207 and one result per event.',
  scope: 'ingest',
  tolerant: true,
  headers: IdempotencyHeaders,
  query: z.object({ partial: z.enum(['true', 'false', '']).optional() }),
  body: z.object({ events: z.array(IncomingEvent).min(1).max(1000) }),
  examples: {
    toolCall: {
      events: [
        {
          ...{ sessionId: 'run-1', agentId: 'support-bot', id: 'run-1-call-1', eventType: 'tool_call' },
          payload: { callId: 'call-1', toolName: 'search', arguments: { query: 'refunds' } },
        },
        {
          ...{ sessionId: 'run-1', agentId: 'support-bot', id: 'run-1-call-1-end', eventType: 'tool_response' },
          payload: { callId: 'call-1', toolName: 'search', result: { found: 3 }, durationMs: 1200 },
        },
      ],
    },
  },
  status: 201,
  response: z.object({
    ingested: z.int(),
    events: z.array(z.object({ id: z.string(), hash: z.string() })),
    warnings: Warnings,
  }),
  partial: z.object({
    ingested: z.int(),
    rejected: z.int(),
    results: z.array(
      z.object({
        index: z.int(),
        status: z.literal([201, 400, 403, 409]).meta({ type: 'integer' }),
        id: z.string().optional(),
        hash: z.string().optional(),
        error: Problem.optional(),
        warnings: Warnings,
      }),
    ),
  }),
  problems: [409, 422],
});

const tag = 'OpenTelemetry';
const Status = z
  .object({ code: z.int().meta({ description: 'A google.rpc.Code.' }), message: z.string() })
  .meta({ id: 'Status', description: 'google.rpc.Status, in the format of the request.' });
const partialSuccess = (rejected: string) =>
  z.object({ partialSuccess: z.object({ [rejected]: z.string(), errorMessage: z.string() }).optional() });

const exporting = { method: 'post', tag, scope: 'ingest', failure: Status } as const;

/* OTLP/HTTP requests as JSON or application/x-protobuf, optionally gzip; see docs/otlp.md. */

export const exportTraces = operation({
  ...exporting,
  id: 'exportTraces',
  path: '/v1/traces',
  summary: 'Store spans as runs, model calls and tool calls.',
  body: z.looseObject({}).meta({ description: 'An ExportTraceServiceRequest.' }),
  response: partialSuccess('rejectedSpans'),
});

export const exportLogs = operation({
  ...exporting,
  id: 'exportLogs',
  path: '/v1/logs',
  summary: 'Receive log records: evaluations become events, others are counted and dropped.',
  body: z.looseObject({}).meta({ description: 'An ExportLogsServiceRequest.' }),
  response: partialSuccess('rejectedLogRecords'),
});

export const exportMetrics = operation({
  ...exporting,
  id: 'exportMetrics',
  path: '/v1/metrics',
  summary: 'Receive metrics and drop them, because exporters send them by default.',
  body: z.looseObject({}).meta({ description: 'An ExportMetricsServiceRequest.' }),
  response: z.object({}),
});
