import type { EventsTable } from '@agentlens/database';
import { GatewayModelCall, listModelCalls, MODEL_CALLS_LIST, type RequestOf, withEnds } from '@agentlens/operations';
import { type Caller, type Clock, CurrentCaller, FromRequest, port, Serves } from '@agentlens/platform';
import { Controller, Inject } from '@nestjs/common';
import { type Selectable, sql } from 'kysely';
import { eventPage } from '../events/event-page.ts';
import { answerOf } from '../http/page.ts';
import { TenantReads } from '../http/tenant-reads.ts';

/** Calls of the model gateway, read from the events that it records. */
@Controller()
export class ModelCallsController {
  constructor(
    private readonly reads: TenantReads,
    @Inject(port('clock')) private readonly clock: Clock,
  ) {}

  @Serves(listModelCalls)
  async list(@CurrentCaller() { tenantId }: Caller, @FromRequest() { query }: RequestOf<typeof listModelCalls>) {
    const filter = withEnds(query, this.clock.now());
    const { items, ...page } = await this.reads.read(tenantId, async (db) => {
      let rows = db
        .selectFrom('events')
        .where('tenant_id', '=', tenantId)
        .where('source_type', '=', 'llm_response')
        .where(sql<boolean>`metadata->>'via' = 'gateway'`);
      if (filter.runId !== undefined) rows = rows.where('run_id', '=', filter.runId);
      if (filter.agentId !== undefined) rows = rows.where('agent_id', '=', filter.agentId);
      if (filter.model !== undefined) rows = rows.where('model', '=', filter.model);
      if (filter.connection !== undefined)
        rows = rows.where(sql<boolean>`metadata->>'connection' = ${filter.connection}`);
      if (filter.from !== undefined) rows = rows.where('occurred_at', '>=', filter.from);
      if (filter.to !== undefined) rows = rows.where('occurred_at', '<=', filter.to);
      // The gateway records every other answer as a warning.
      if (filter.show === 'incomplete') rows = rows.where('severity', '!=', 'info');
      return eventPage(db, MODEL_CALLS_LIST, rows, filter, 'desc', readCall);
    });
    return answerOf('calls', items, page);
  }
}

function readCall(row: Selectable<EventsTable>): GatewayModelCall {
  const { payload } = row;
  const isWhole = row.severity === 'info';
  const finish = textIn(payload, 'finishReason');
  const { toolCalls } = payload;
  return {
    id: row.call_id ?? row.event_id,
    eventId: row.event_id,
    at: row.occurred_at,
    runId: row.run_id,
    agentId: row.agent_id,
    connection: textIn(row.metadata, 'connection') ?? '',
    provider: row.provider,
    model: row.model,
    // Where an answer is not whole, the gateway records why instead of the provider's reason.
    outcome: isWhole ? 'completed' : (finish ?? 'unknown'),
    finishReason: isWhole ? finish : null,
    status: numberIn(payload, 'status'),
    stopReason: textIn(payload, 'stopReason'),
    usageSource: textIn(payload, 'usageSource'),
    inputTokens: row.input_tokens,
    outputTokens: row.output_tokens,
    costUsd: row.cost_usd,
    firstByteMs: numberIn(payload, 'firstByteMs'),
    latencyMs: row.latency_ms,
    toolCalls: Array.isArray(toolCalls) ? toolCalls.length : 0,
    failedAttempts: readAttempts(payload),
  };
}

/** As the gateway wrote them. */
function readAttempts({ failedAttempts }: Readonly<Record<string, unknown>>): GatewayModelCall['failedAttempts'] {
  const read = GatewayModelCall.shape.failedAttempts.safeParse(failedAttempts);
  return read.success ? read.data : [];
}

function textIn(members: Readonly<Record<string, unknown>>, name: string): string | null {
  const value = members[name];
  return typeof value === 'string' ? value : null;
}

function numberIn(members: Readonly<Record<string, unknown>>, name: string): number | null {
  const value = members[name];
  return typeof value === 'number' ? value : null;
}
