import { Instant } from '@agentlens/contracts/schemas';
import { z } from 'zod';

export const SESSION_STATUSES = ['active', 'idle', 'completed', 'error'] as const;
export type SessionStatus = (typeof SESSION_STATUSES)[number];

export const RUN_STATUSES = [
  'running',
  'succeeded',
  'failed',
  'timed_out',
  'cancelled',
  'interrupted',
  'lost',
  'killed',
] as const;

export const Session = z
  .object({
    id: z.string(),
    tenantId: z.string(),
    agentId: z.string(),
    agentName: z.string().optional(),
    startedAt: Instant,
    endedAt: Instant.optional(),
    status: z.enum(SESSION_STATUSES),
    runStatus: z.enum(RUN_STATUSES).meta({ description: 'The exact status that `status` summarises.' }),
    lastEventAt: Instant,
    eventCount: z.int(),
    toolCallCount: z.int(),
    errorCount: z.int().meta({ description: 'Each event counts once, whatever makes it an error.' }),
    totalCostUsd: z.number(),
    unpricedCount: z.int().meta({ description: 'Model calls whose cost is not known and not in totalCostUsd.' }),
    llmCallCount: z.int(),
    totalInputTokens: z.int(),
    totalOutputTokens: z.int(),
    totalTokens: z.int(),
    tags: z.array(z.string()),
    model: z.string().optional(),
    provider: z.string().optional(),
    groupId: z.string().optional().meta({ description: 'Groups runs, where the client says so.' }),
    parentSessionId: z.string().optional(),
  })
  .meta({ id: 'Session' });
export type Session = z.infer<typeof Session>;
