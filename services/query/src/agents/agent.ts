import { AgentTool } from '@agentlens/contracts';
import type { AgentDirectivesTable, AgentsTable } from '@agentlens/database';
import type { Agent, ControlStateView } from '@agentlens/operations';
import type { Selectable } from 'kysely';

type DirectiveColumns = {
  [K in 'paused_at' | 'pause_reason' | 'model_override' | 'model_override_reason']:
    | Selectable<AgentDirectivesTable>[K]
    | null;
};

/** An agent with the instructions in force for it. */
export function agentFromRow(row: Selectable<AgentsTable> & DirectiveColumns, control: ControlStateView): Agent {
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
    control,
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
