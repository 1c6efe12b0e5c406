import type { Columns } from '@agentlens/database';
import { type AgentTally, type RunRecord, type RunTotals, statusOf, usdText } from '@agentlens/runs';

interface Counted {
  readonly tenantId: string;
  readonly totals: RunTotals;
}

/** What runs and days of agents both keep. */
const COUNTED_COLUMNS: Columns<Counted> = {
  tenant_id: ({ tenantId }) => tenantId,
  event_count: ({ totals }) => totals.events,
  error_count: ({ totals }) => totals.errors,
  tool_call_count: ({ totals }) => totals.toolCalls,
  tool_error_count: ({ totals }) => totals.toolErrors,
  llm_call_count: ({ totals }) => totals.llmCalls,
  input_tokens: ({ totals }) => totals.inputTokens,
  output_tokens: ({ totals }) => totals.outputTokens,
  cost_usd: costOf,
};

/** A row of the type `run_row_2`. */
export interface CountedRun extends Counted {
  readonly run: RunRecord;
}

export const RUN_COLUMNS: Columns<CountedRun> = {
  ...COUNTED_COLUMNS,
  run_id: ({ run }) => run.runId,
  agent_id: ({ run }) => run.agentId,
  first_place: ({ run }) => run.firstPlace,
  agent_name: ({ run }) => run.agentName?.value,
  name_place: ({ run }) => run.agentName?.place,
  model: ({ run }) => run.model?.value.model,
  provider: ({ run }) => run.model?.value.provider,
  model_place: ({ run }) => run.model?.place,
  status: ({ run }) => statusOf(run),
  ended_at: ({ run }) => run.end?.value.at,
  end_place: ({ run }) => run.end?.place,
  end_status: ({ run }) => run.end?.value.status,
  agent_end_status: ({ run }) => run.agentEnd?.value,
  agent_end_place: ({ run }) => run.agentEnd?.place,
  session_id: ({ run }) => run.sessionId,
  parent_run_id: ({ run }) => run.parent?.value.runId,
  parent_tool_use_id: ({ run }) => run.parent?.value.toolUseId,
  parent_place: ({ run }) => run.parent?.place,
  started_at: ({ run }) => run.startedAt,
  last_event_at: ({ run }) => run.lastEventAt,
  total_tokens: ({ totals }) => totals.totalTokens,
  unpriced_count: ({ totals }) => totals.unpriced,
  tags: ({ run }) => run.tags,
  cache_read_tokens: ({ totals }) => totals.cacheReadTokens,
  cache_write_tokens: ({ totals }) => totals.cacheWriteTokens,
  step_count: ({ totals }) => totals.steps,
  actor: ({ run }) => run.actor?.value,
  actor_id: ({ run }) => run.actor?.value.externalId,
  actor_place: ({ run }) => run.actor?.place,
  run_tags: ({ run }) => run.runTags,
  ttl_ms: ({ run }) => run.ttlMs,
  heartbeat_every_ms: ({ run }) => run.heartbeatEveryMs,
  result: ({ run }) => run.result?.value,
  result_place: ({ run }) => run.result?.place,
  error_message: ({ run }) => run.errorMessage?.value,
  error_place: ({ run }) => run.errorMessage?.place,
};

/** A row of the type `agent_row`, with the totals of all its days. */
export interface CountedAgent extends Counted {
  readonly agent: AgentTally;
}

export const AGENT_COLUMNS: Columns<CountedAgent> = {
  tenant_id: ({ tenantId }) => tenantId,
  agent_id: ({ agent }) => agent.agentId,
  name: ({ agent }) => agent.name?.value,
  name_place: ({ agent }) => agent.name?.place,
  first_seen_at: ({ agent }) => agent.firstSeenAt,
  last_seen_at: ({ agent }) => agent.lastSeenAt,
  event_count: ({ totals }) => totals.events,
  error_count: ({ totals }) => totals.errors,
  cost_usd: costOf,
  slug: ({ agent }) => agent.registration.slug,
  description: ({ agent }) => agent.registration.description?.value,
  description_place: ({ agent }) => agent.registration.description?.place,
  tags: ({ agent }) => agent.registration.tags?.value,
  tags_place: ({ agent }) => agent.registration.tags?.place,
  tools: ({ agent: { registration } }) =>
    registration.tools.size === 0 ? undefined : Array.from(registration.tools.values(), ({ value }) => value),
  tool_places: ({ agent: { registration } }) =>
    registration.tools.size === 0
      ? undefined
      : Object.fromEntries(Array.from(registration.tools, ([tool, { place }]) => [tool, place])),
};

/** A row of the type `day_row`. */
export interface CountedDay extends Counted {
  readonly agentId: string;
  readonly day: string;
}

export const DAY_COLUMNS: Columns<CountedDay> = {
  ...COUNTED_COLUMNS,
  agent_id: ({ agentId }) => agentId,
  day: ({ day }) => day,
};

function costOf({ totals }: Counted): string {
  return usdText(totals.picoUsd);
}
