import { JsonObject, Problem, SEVERITIES } from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation } from '../operation.ts';
import { IdempotencyHeaders } from './idempotency-headers.ts';

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

/** Served by the ingest gateway on the same address; described here so that the document is whole. */
const Warnings = z
  .array(z.object({ path: z.string(), message: z.string() }))
  .optional()
  .meta({ description: 'What was repaired so that the event could be stored.' });

export const ingestEvents = operation({
  id: 'ingestEvents',
  method: 'post',
  path: '/api/events',
  tag: 'Events',
  summary: 'Takes events. 201 once they are safe; with partial=true 207 and one result per event.',
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
