import { CostSource, EventKind, Instant, JsonObject, Severity } from '@agentlens/contracts/schemas';
import { z } from 'zod';

const Count = z.number().nullable();

/**
 * An event as it is read back, by page or by stream. The first block is what AgentLens clients know; there is no hash chain,
 * so `prevHash` is always null, while `hash` is over the event's own canonical form.
 */
export const StoredEvent = z
  .object({
    id: z.string(),
    timestamp: Instant,
    sessionId: z.string().meta({ description: 'The run the event belongs to.' }),
    agentId: z.string(),
    eventType: z.string().meta({ description: "The client's own name of the event type." }),
    severity: Severity,
    payload: JsonObject,
    metadata: JsonObject,
    contentExpired: z.literal(true).optional().meta({
      description:
        'What it said was removed (retention of contents, or an erasure). Counts and times are as they were.',
    }),
    prevHash: z.null(),
    hash: z.string(),
    tenantId: z.string(),
    kind: EventKind,
    dialect: z.string(),
    isError: z.boolean(),
    tags: z.array(z.string()),
    toolName: z.string().nullable(),
    callId: z.string().nullable(),
    model: z.string().nullable(),
    provider: z.string().nullable(),
    usage: z.object({
      inputTokens: Count,
      outputTokens: Count,
      totalTokens: Count,
      costUsd: Count,
      costSource: CostSource.nullable(),
      latencyMs: Count,
    }),
    /** When the platform accepted it. */
    receivedAt: Instant,
  })
  .meta({ id: 'Event' });
export type StoredEvent = z.infer<typeof StoredEvent>;
