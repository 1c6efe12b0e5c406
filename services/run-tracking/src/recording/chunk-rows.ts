import type { Usage } from '@agentlens/contracts';
import { type Columns, JsonText, RowArray, type RowType } from '@agentlens/database';
import { type AgentTally, type RunRecord, type RunTotals, statusOf, sumOfAll, usdText } from '@agentlens/runs';
import type { ChunkEvent, Tallies } from './chunk-tallies.ts';
import { PRICING } from './recording.sql.ts';

/**
 * Columns of `event_row_2`. Events are not validated again: a wrong type fails when the row is encoded, anything else in
 * the statement.
 */
export const EVENT_COLUMNS: Columns<ChunkEvent> = {
  tenant_id: ({ batch }) => batch.tenantId,
  occurred_at: ({ event }) => event.occurredAt,
  event_id: ({ event }) => event.id,
  run_id: ({ event }) => event.runId,
  agent_id: ({ event }) => event.agentId,
  session_id: ({ event }) => event.sessionId,
  kind: ({ event }) => event.kind,
  dialect: ({ event }) => event.dialect,
  source_type: ({ event }) => event.sourceType,
  severity: ({ event }) => event.severity,
  is_error: ({ event }) => event.isError,
  tool_name: ({ event }) => event.toolName,
  call_id: ({ event }) => event.callId,
  model: ({ event }) => event.model,
  provider: ({ event }) => event.provider,
  input_tokens: ({ event }) => whole(event.usage?.inputTokens),
  output_tokens: ({ event }) => whole(event.usage?.outputTokens),
  total_tokens: ({ event }) => whole(event.usage?.totalTokens),
  cost_usd: ({ event }) => (event.usage?.costUsd === undefined ? undefined : String(event.usage.costUsd)),
  cost_source: ({ event }) => event.usage?.costSource,
  latency_ms: ({ event }) => event.usage?.latencyMs,
  tags: ({ event }) => event.tags,
  payload: ({ payload }) => new JsonText(payload),
  metadata: ({ metadata }) => new JsonText(metadata),
  hash: ({ event }) => event.hash,
  received_at: ({ batch }) => batch.receivedAt,
  pricing: ({ event }) => pricingOf(event.usage),
};

/** What prices and their explanation need beside the columns; undefined for events that are no model calls. */
function pricingOf(usage: Usage | undefined): JsonText | undefined {
  if (usage?.costSource === undefined) return undefined;
  const kept = Object.fromEntries(PRICING.flatMap((name) => (usage[name] === undefined ? [] : [[name, usage[name]]])));
  return new JsonText(JSON.stringify(kept));
}

function whole(count: number | undefined): number | undefined {
  return count === undefined ? undefined : Math.round(count);
}

/** Row types of the statements, created by migrations. */
export const ROW_TYPES = ['event_row_2', 'run_row_2', 'agent_row', 'day_row'] as const;
export type RowTypes = Readonly<Record<(typeof ROW_TYPES)[number], RowType>>;

interface Counted {
  readonly tenantId: string;
  readonly totals: RunTotals;
}

/** Totals that runs and minutes of agents share. */
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

/** A `run_row_2`. */
interface CountedRun extends Counted {
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

/** An `agent_row`, with totals of all its minutes. */
interface CountedAgent extends Counted {
  readonly agent: AgentTally;
}

const AGENT_COLUMNS: Columns<CountedAgent> = {
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

/** A `day_row` whose day is a minute; the statement sums minutes up to days and hours. */
interface CountedMinute extends Counted {
  readonly agentId: string;
  readonly minute: string;
}

const MINUTE_COLUMNS: Columns<CountedMinute> = {
  ...COUNTED_COLUMNS,
  agent_id: ({ agentId }) => agentId,
  day: ({ minute }) => minute,
};

function costOf({ totals }: Counted): string {
  return usdText(totals.picoUsd);
}

/** Rows of one statement. Can be cleared and reused. */
export class ChunkRows {
  readonly events: RowArray<ChunkEvent>;
  readonly #runs: RowArray<CountedRun>;
  readonly #agents: RowArray<CountedAgent>;
  readonly #minutes: RowArray<CountedMinute>;

  constructor(readonly types: RowTypes) {
    this.events = new RowArray(types.event_row_2, EVENT_COLUMNS);
    this.#runs = new RowArray(types.run_row_2, RUN_COLUMNS);
    this.#agents = new RowArray(types.agent_row, AGENT_COLUMNS);
    this.#minutes = new RowArray(types.day_row, MINUTE_COLUMNS);
  }

  /** Adds the totals to the rows. @throws RangeError if a total exceeds the safe integers */
  addTotals(tallies: Tallies): void {
    for (const [tenantId, tally] of tallies) {
      for (const run of tally.runs.values()) this.#runs.add({ tenantId, run, totals: exact(run.totals) });
      for (const agent of tally.agents.values()) {
        this.#agents.add({ tenantId, agent, totals: sumOfAll(agent.minutes.values()) });
        for (const [minute, totals] of agent.minutes) {
          this.#minutes.add({ tenantId, agentId: agent.agentId, minute, totals: exact(totals) });
        }
      }
    }
  }

  /** Arrays of `run_row_2`, `agent_row` and `day_row`. */
  totals(): readonly Buffer[] {
    return [this.#runs, this.#agents, this.#minutes].map((rows) => rows.toBuffer());
  }

  clear(): void {
    for (const rows of [this.events, this.#runs, this.#agents, this.#minutes]) rows.clear();
  }
}

function exact(totals: RunTotals): RunTotals {
  for (const total of Object.values(totals)) {
    if (typeof total === 'number' && !Number.isSafeInteger(total)) throw new RangeError('a total is too big');
  }
  return totals;
}
