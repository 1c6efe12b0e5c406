import { DAY_MS } from '@agentlens/contracts';
import { type TextHit, type TextSearchQuery, withEnds } from '@agentlens/operations';
import { type Clock, port } from '@agentlens/platform';
import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { type ReadOnly, TenantReads } from '../http/tenant-reads.ts';
import { containsText, excerptAround } from './contained-text.ts';

const DEFAULT_RANGE_MS = 7 * DAY_MS;
const BUDGET_MS = 3_000;
/** The first slice of time that is read. Each further one is twice as long as the one before, or half after a slow one. */
const FIRST_SLICE_MS = 10 * 60_000;
const SLOW_SLICE_MS = 400;
/** A slice that takes longer is given up and read in smaller ones. */
const MAX_SLICE_MS = 1_000;
const SMALLER = 8;
const SHORTEST_SLICE = 1_000;

interface Row extends Omit<TextHit, 'excerpt' | 'name' | 'callId'> {
  readonly name: string | null;
  readonly callId: string | null;
  readonly payload: string;
}

/**
 * Finds events by a text in their payload. Reads slices of time backwards until there are enough hits or the time is
 * used up, so that a rare word in a long history costs no more than a frequent one. There is no index on the text,
 * because each would cost more per event than everything else together (docs/performance.md).
 */
@Injectable()
export class TextSearchQueries {
  constructor(
    private readonly reads: TenantReads,
    @Inject(port('clock')) private readonly clock: Clock,
  ) {}

  async find(tenantId: string, query: TextSearchQuery) {
    const now = this.clock.now();
    const ends = withEnds(query, now);
    // The end of the range belongs to it.
    const toMs = (ends.to === undefined ? now : Date.parse(ends.to)) + 1;
    const fromMs = ends.from === undefined ? toMs - DEFAULT_RANGE_MS : Date.parse(ends.from);
    const deadline = performance.now() + BUDGET_MS;
    const hits: TextHit[] = [];
    let reached = toMs;
    let slice = FIRST_SLICE_MS;
    while (reached > fromMs && hits.length < query.limit) {
      const sliceStartedAt = performance.now();
      const maxMs = Math.min(MAX_SLICE_MS, deadline - sliceStartedAt);
      if (maxMs <= 0) break;
      const [start, end] = [Math.max(fromMs, reached - slice), reached];
      const limit = query.limit - hits.length;
      const rows = await this.reads.readWithin(tenantId, maxMs, (db) =>
        slicedRows(db, tenantId, query, start, end, limit),
      );
      if (rows === undefined) {
        slice = Math.max(SHORTEST_SLICE, (end - start) / SMALLER);
        continue;
      }
      hits.push(...rows.map((row) => hitOf(row, query.text)));
      const last = rows.length === limit ? rows.at(-1) : undefined;
      reached = last === undefined ? start : Date.parse(last.at);
      slice = performance.now() - sliceStartedAt > SLOW_SLICE_MS ? Math.max(SHORTEST_SLICE, slice / 2) : slice * 2;
    }
    const searchedFrom = new Date(Math.max(fromMs, reached)).toISOString();
    return { hits, searchedFrom, complete: reached <= fromMs };
  }
}

async function slicedRows(
  db: ReadOnly,
  tenantId: string,
  { text, agentId, runId }: TextSearchQuery,
  fromMs: number,
  toMs: number,
  limit: number,
): Promise<readonly Row[]> {
  const { rows } = await sql<Row>`
    select run_id as "runId", agent_id as "agentId", event_id as "eventId", occurred_at as at, kind,
      coalesce(tool_name, model) as name, call_id as "callId", is_error as "isError", payload::text as payload
    from events
    where tenant_id = ${tenantId} and occurred_at >= ${new Date(fromMs).toISOString()}::timestamptz
      and occurred_at < ${new Date(toMs).toISOString()}::timestamptz
      ${agentId === undefined ? sql`` : sql`and agent_id = ${agentId}`}
      ${runId === undefined ? sql`` : sql`and run_id = ${runId}`}
      and ${containsText(sql`payload::text`, text)}
    order by occurred_at desc, event_id desc limit ${limit}`.execute(db);
  return rows;
}

function hitOf({ payload, name, callId, ...row }: Row, text: string): TextHit {
  return {
    ...row,
    ...(name === null ? {} : { name }),
    ...(callId === null ? {} : { callId }),
    excerpt: excerptAround(payload, text),
  };
}
