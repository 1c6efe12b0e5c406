import { AgentTool } from '@agentlens/contracts';
import type { AgentDirectivesTable, AgentsTable } from '@agentlens/database';
import type { Selectable } from 'kysely';
import { z } from 'zod';

export const Agent = z
  .object({
    id: z.string(),
    tenantId: z.string(),
    name: z.string(),
    description: z.string().optional(),
    slug: z.string().optional().meta({ description: 'Of an agent that registered itself.' }),
    tags: z.array(z.string()).meta({ description: 'As registered.' }),
    tools: z.array(AgentTool).meta({ description: 'As registered, by name.' }),
    firstSeenAt: z.string(),
    lastSeenAt: z.string(),
    sessionCount: z.int(),
    eventCount: z.int(),
    errorCount: z.int(),
    totalCostUsd: z.number(),
    pausedAt: z.string().optional().meta({ description: 'Present while the agent is paused.' }),
    pauseReason: z.string().optional(),
    modelOverride: z
      .string()
      .optional()
      .meta({ description: 'The model the agent is told to use instead of its own.' }),
    modelOverrideReason: z.string().optional(),
  })
  .meta({ id: 'Agent' });
export type Agent = z.infer<typeof Agent>;

export type DirectiveColumns = {
  [K in 'paused_at' | 'pause_reason' | 'model_override' | 'model_override_reason']:
    | Selectable<AgentDirectivesTable>[K]
    | null;
};

/** An agent with the instructions in force for it. */
export function agentFromRow(row: Selectable<AgentsTable> & DirectiveColumns): Agent {
  return {
    id: row.agent_id,
    tenantId: row.tenant_id,
    name: row.name ?? row.agent_id,
    ...(row.description === null ? {} : { description: row.description }),
    ...(row.slug === null ? {} : { slug: row.slug }),
    tags: row.tags,
    tools: row.tools.flatMap((tool) => {
      const parsed = AgentTool.safeParse(tool);
      return parsed.success ? [parsed.data] : [];
    }),
    firstSeenAt: row.first_seen_at,
    lastSeenAt: row.last_seen_at,
    sessionCount: row.run_count,
    eventCount: row.event_count,
    errorCount: row.error_count,
    totalCostUsd: row.cost_usd,
    ...pauseOf(row),
    ...overrideOf(row),
  };
}

function pauseOf(row: DirectiveColumns): Partial<Agent> {
  if (row.paused_at === null) return {};
  return { pausedAt: row.paused_at, ...(row.pause_reason === null ? {} : { pauseReason: row.pause_reason }) };
}

function overrideOf(row: DirectiveColumns): Partial<Agent> {
  if (row.model_override === null) return {};
  const reason = row.model_override_reason;
  return { modelOverride: row.model_override, ...(reason === null ? {} : { modelOverrideReason: reason }) };
}
