import { DAY_MS } from '@agentlens/contracts';
import { type RequestOf, type SearchHit, searchById, searchText } from '@agentlens/operations';
import { type Caller, CurrentCaller, FromRequest, Serves } from '@agentlens/platform';
import { Controller, Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { TenantReads } from '../http/tenant-reads.ts';
import { TextSearchQueries } from './text-search.queries.ts';

const LAYOUT = 'xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx';
const HEX = /^[0-9a-f]$/;
/** Sorts after every character that can follow in an id. */
const LAST = '\u{10ffff}';
const DIGITS_OF_TIME = 12;

/** Returns the byte-order range of texts with a prefix. */
export function bytesFrom(prefix: string): { readonly first: string; readonly last: string } {
  return { first: prefix, last: `${prefix}${LAST}` };
}

/**
 * Returns the range of UUIDs with a prefix, or null if there are none. UUIDs have the same order in every collation,
 * because hyphens have fixed positions and digits sort before letters.
 */
export function uuidsFrom(prefix: string): { readonly first: string; readonly last: string } | null {
  const text = prefix.toLowerCase();
  if (text.length > LAYOUT.length) return null;
  const fits = Array.from(text).every((character, i) => (LAYOUT[i] === '-' ? character === '-' : HEX.test(character)));
  if (!fits) return null;
  const rest = LAYOUT.slice(text.length);
  return { first: text + rest.replaceAll('x', '0'), last: text + rest.replaceAll('x', 'f') };
}

/** Returns the time in a version 7 UUID, in ms. */
export function timeIn(uuid: string): number {
  return Number.parseInt(uuid.replaceAll('-', '').slice(0, DIGITS_OF_TIME), 16);
}

const MAX_HITS = 20;
/** Limit for prefix matches, so that one kind does not hide the others. */
const MAX_HITS_PER_KIND = 10;
/** Maximum number of runs to read for conversations, because a conversation may have any number of runs. */
const MAX_RUNS_READ = 500;
/** A shorter prefix matches too many ids. */
const MIN_PREFIX_CHARS = 6;
/** Maximum difference between the time in an id and the time of its row. */
const NEAR_MS = DAY_MS;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

type Row = { readonly [K in keyof Required<SearchHit>]: SearchHit[K] | null } & Pick<SearchHit, 'kind' | 'id'>;

@Injectable()
export class SearchQueries {
  constructor(private readonly reads: TenantReads) {}

  /** Returns exact matches first, then prefix matches. Every read uses an index. */
  async byId(tenantId: string, id: string): Promise<{ hits: SearchHit[]; truncated: boolean }> {
    const rows = await this.reads.read(tenantId, async (db) => {
      const whole = (await wholeId(tenantId, id).execute(db)).rows;
      if (id.length < MIN_PREFIX_CHARS || UUID.test(id)) return whole;
      const begun = (await idPrefix(tenantId, id).execute(db)).rows;
      const known = new Set(whole.map(({ kind, id: found }) => `${kind} ${found}`));
      return [...whole, ...begun.filter(({ kind, id: found }) => !known.has(`${kind} ${found}`))];
    });
    return { hits: rows.slice(0, MAX_HITS).map(hitOf), truncated: rows.length > MAX_HITS };
  }
}

/** Triggers and events are partitioned by time, so they are searched only around the time in the id. */
function wholeId(tenantId: string, id: string): RawBuilder<Row> {
  const { from, to } = UUID_V7.test(id) ? around(timeIn(id), timeIn(id)) : { from: instant(0), to: instant(0) };
  return sql<Row>`
    select 'run' as kind, run_id as id, true as whole, agent_name as name, null as "runId", agent_id as "agentId",
        started_at as at
      from runs where tenant_id = ${tenantId} and run_id = ${id}
    union all select 'agent', agent_id, true, coalesce(name, slug), null, agent_id, first_seen_at
      from agents where tenant_id = ${tenantId} and (agent_id = ${id} or slug = ${id})
    union all (select 'conversation', session_id, true, null, run_id, agent_id, started_at
      from runs where tenant_id = ${tenantId} and session_id = ${id} order by started_at desc limit 1)
    union all select 'rule', rule_id, true, name, null, agent_id, created_at
      from guardrail_rules where tenant_id = ${tenantId} and rule_id = ${id}
    union all select 'trigger', trigger_id, true, rule_name, run_id, agent_id, triggered_at
      from guardrail_triggers where tenant_id = ${tenantId} and trigger_id = ${id}
        and triggered_at between ${from}::timestamptz and ${to}::timestamptz
    union all select 'decision', decision_id, true, tool_name, run_id, agent_id, decided_at
      from decisions where tenant_id = ${tenantId} and decision_id = ${id}
    union all select 'alert', alert_id, true, title, run_id, agent_id, created_at
      from alerts where tenant_id = ${tenantId} and alert_id = ${id}
    union all select 'delivery', delivery_id, true, action_type, null, agent_id, created_at
      from deliveries where tenant_id = ${tenantId} and delivery_id = ${id}
    union all select 'budget', budget_id, true, name, null, null, created_at
      from budgets where tenant_id = ${tenantId} and budget_id = ${id}
    union all select 'event', event_id, true, kind, run_id, agent_id, occurred_at
      from events where tenant_id = ${tenantId} and event_id = ${id}
        and occurred_at between ${from}::timestamptz and ${to}::timestamptz
    limit ${MAX_HITS + 1}`;
}

/**
 * Searches by prefix. Ids that clients choose use an index in byte order; ids that the platform generates (UUIDs) use
 * their primary key; a tenant has few agents, rules and budgets. Events are left out, because an index for them would
 * cost something on every insert. Uses `>=` and `<=`, because row level security prevents `like` from using indexes.
 */
export function idPrefix(tenantId: string, prefix: string): RawBuilder<Row> {
  const { first, last } = bytesFrom(prefix);
  const uuids = uuidsFrom(prefix);
  const most = sql`limit ${MAX_HITS_PER_KIND}`;
  const clients = sql`
    (select 'run' as kind, run_id as id, false as whole, agent_name as name, null as "runId", agent_id as "agentId",
        started_at as at
      from runs where tenant_id = ${tenantId} and run_id ~>=~ ${first} and run_id ~<~ ${last} ${most})
    union all (select 'agent', agent_id, false, coalesce(name, slug), null, agent_id, first_seen_at
      from agents where tenant_id = ${tenantId} and (starts_with(agent_id, ${prefix}) or starts_with(slug, ${prefix})) ${most})
    union all (select distinct on (session_id) 'conversation', session_id, false, null, run_id, agent_id, started_at
      from (
        select session_id, run_id, agent_id, started_at
        from runs where tenant_id = ${tenantId} and session_id ~>=~ ${first} and session_id ~<~ ${last}
        limit ${MAX_RUNS_READ}
      ) as begun order by session_id, started_at desc ${most})
    union all (select 'rule', rule_id, false, name, null, agent_id, created_at
      from guardrail_rules where tenant_id = ${tenantId} and starts_with(rule_id, ${prefix}) ${most})
    union all (select 'budget', budget_id, false, name, null, null, created_at
      from budgets where tenant_id = ${tenantId} and starts_with(budget_id, ${prefix}) ${most})`;
  if (uuids === null) return sql<Row>`${clients} limit ${MAX_HITS + 1}`;
  const { from, to } = around(timeIn(uuids.first), timeIn(uuids.last));
  return sql<Row>`${clients}
    union all (select 'trigger', trigger_id, false, rule_name, run_id, agent_id, triggered_at
      from guardrail_triggers where tenant_id = ${tenantId} and trigger_id between ${uuids.first} and ${uuids.last}
        and triggered_at between ${from}::timestamptz and ${to}::timestamptz ${most})
    union all (select 'decision', decision_id, false, tool_name, run_id, agent_id, decided_at
      from decisions where tenant_id = ${tenantId} and decision_id between ${uuids.first} and ${uuids.last} ${most})
    union all (select 'alert', alert_id, false, title, run_id, agent_id, created_at
      from alerts where tenant_id = ${tenantId} and alert_id between ${uuids.first} and ${uuids.last} ${most})
    union all (select 'delivery', delivery_id, false, action_type, null, agent_id, created_at
      from deliveries where tenant_id = ${tenantId} and delivery_id between ${uuids.first} and ${uuids.last} ${most})
    limit ${MAX_HITS + 1}`;
}

function hitOf(row: Row): SearchHit {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)) as SearchHit;
}

/** The range of times that a row with an id of this time may have. */
function around(fromMs: number, toMs: number): { readonly from: string; readonly to: string } {
  return { from: instant(fromMs - NEAR_MS), to: instant(toMs + NEAR_MS) };
}

const LATEST_MS = Date.parse('9999-12-31T00:00:00Z');

function instant(ms: number): string {
  return new Date(Math.min(LATEST_MS, Math.max(0, ms))).toISOString();
}

@Controller()
export class SearchController {
  constructor(
    private readonly search: SearchQueries,
    private readonly texts: TextSearchQueries,
  ) {}

  @Serves(searchText)
  byText(@CurrentCaller() { tenantId }: Caller, @FromRequest() { query }: RequestOf<typeof searchText>) {
    return this.texts.find(tenantId, query);
  }

  @Serves(searchById)
  byId(@CurrentCaller() { tenantId }: Caller, @FromRequest() { query }: RequestOf<typeof searchById>) {
    return this.search.byId(tenantId, query.id);
  }
}
