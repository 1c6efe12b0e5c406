import type { ClientBase, Pool } from 'pg';
import type { MinuteCounts, MinuteTally, MinuteVerdict } from './minutes.ts';

/** A minute of a tenant whose events are not yet known to be complete. */
export interface UnsettledMinute extends MinuteTally {
  readonly state: 'open' | 'differs';
}

interface TenantDifference extends MinuteVerdict {
  readonly tenantId: string;
}

/** Current state of the ledger, shared by all replicas. */
export interface AuditStatus {
  /** Age of the last completed comparison, ms. */
  readonly ageMs: number;
  readonly tenants: readonly TenantDifference[];
  /** Minutes, of all tenants, with missing events. */
  readonly minutes: number;
}

/**
 * How long complete minutes are kept, for late messages and for people. Others are kept while the stream may know more.
 */
const KEEP_EQUAL_HOURS = 3;
const KEEP_HOURS = 72;
const MINUTES_PER_TURN = 500;
/** Pause before a difference is checked again; it grows with each check. */
const LOOK_AGAIN_MS = 10_000;

const TAKE_TALLIES = `
insert into audit_minutes as m (tenant_id, minute, accepted, first_sequence, last_sequence, seen_at)
select "tenantId", minute, accepted, "firstSequence", "lastSequence", now()
from jsonb_to_recordset($1::jsonb) as t("tenantId" text, minute timestamptz, accepted bigint, "firstSequence" bigint,
  "lastSequence" bigint)
on conflict (tenant_id, minute) do update set
  accepted = m.accepted + excluded.accepted,
  first_sequence = least(m.first_sequence, excluded.first_sequence),
  last_sequence = greatest(m.last_sequence, excluded.last_sequence),
  seen_at = excluded.seen_at,
  state = case when m.state = 'equal' then 'open' else m.state end`;

/**
 * Measured by the clock of this database from when the messages were read, so the clocks of other machines do not
 * matter.
 */
const UNSETTLED = `
select tenant_id as "tenantId", minute, accepted, first_sequence as "firstSequence", last_sequence as "lastSequence",
  state
from audit_minutes
where state = 'open' and seen_at <= now() - $1 * interval '1 millisecond'
  or state = 'differs' and judged_at <= now() - greatest($2 * interval '1 millisecond', (now() - seen_at) / 10)
order by minute limit ${MINUTES_PER_TURN}`;

/**
 * Uses the small index on the time of arrival only. A condition on `occurred_at` would skip partitions, but make the
 * planner read their primary keys.
 */
const STORED = `
select tenant_id as "tenantId", count(*)::int as stored from events
where received_at >= $1::timestamptz and received_at < $1::timestamptz + interval '1 minute'
group by tenant_id`;

const SETTLE = `
update audit_minutes set stored = $3, evaluated = $4, not_stored = $5, not_evaluated = $6, judged_at = now(),
  state = case when $5::bigint + $6::bigint = 0 then 'equal' else 'differs' end
where tenant_id = $1 and minute = $2`;

/** Stores what the auditor has read and found. One replica works in it at a time. */
export class AuditLedger {
  constructor(private readonly pool: Pool) {}

  /** Starts after `sequence` if there is no position yet, because older messages have no counts in their headers. */
  async begin(sequence: number): Promise<void> {
    await this.pool.query(
      'insert into audit_position (sequence, read_at) values ($1, now()) on conflict (id) do nothing',
      [sequence],
    );
  }

  /** Runs one turn in a transaction. @returns undefined if another replica is working. @throws database errors */
  async turn<T>(work: (turn: AuditTurn) => Promise<T>): Promise<T | undefined> {
    const client = await this.pool.connect();
    let failed = true;
    try {
      await client.query('begin');
      const { rows } = await client.query<{ sequence: number }>(
        'select sequence from audit_position for update skip locked',
      );
      const result = rows[0] === undefined ? undefined : await work(new AuditTurn(client, rows[0].sequence));
      await client.query('commit');
      failed = false;
      return result;
    } finally {
      // Ends a session whose transaction is in doubt; nothing of it is committed.
      client.release(failed);
    }
  }

  async standing(): Promise<AuditStatus> {
    const { rows } = await this.pool.query<AuditStatus>(`
      select (extract(epoch from now() - (select read_at from audit_position)) * 1000)::float8 as "ageMs",
        coalesce(sum(minutes), 0)::int as minutes,
        coalesce(json_agg(json_build_object('tenantId', tenant_id, 'notStored', not_stored,
          'notEvaluated', not_evaluated)) filter (where tenant_id is not null), '[]') as tenants
      from (
        select tenant_id, count(*) as minutes, sum(not_stored) as not_stored, sum(not_evaluated) as not_evaluated
        from audit_minutes where state = 'differs' group by tenant_id
      ) as differing`);
    return rows[0] ?? { ageMs: 0, minutes: 0, tenants: [] };
  }

  async prune(): Promise<void> {
    await this.pool.query(`
      delete from audit_minutes
      where seen_at < now() - interval '${KEEP_EQUAL_HOURS} hours' and state = 'equal'
        or seen_at < now() - interval '${KEEP_HOURS} hours'`);
  }
}

/** The ledger, locked by this replica. */
export class AuditTurn {
  constructor(
    readonly client: ClientBase,
    readonly sequence: number,
  ) {}

  async take(tallies: readonly MinuteTally[]): Promise<void> {
    if (tallies.length > 0) await this.client.query(TAKE_TALLIES, [JSON.stringify(tallies)]);
  }

  async readUpTo(sequence: number): Promise<void> {
    await this.client.query('update audit_position set sequence = $1, read_at = now()', [sequence]);
  }

  async unsettled(graceMs: number): Promise<readonly UnsettledMinute[]> {
    const lookAgainMs = Math.min(graceMs, LOOK_AGAIN_MS);
    return (await this.client.query<UnsettledMinute>(UNSETTLED, [graceMs, lookAgainMs])).rows;
  }

  /** Stored events per tenant, by minute of arrival. */
  async stored(minute: string): Promise<ReadonlyMap<string, number>> {
    // A named statement, planned once for all partitions.
    const query = { name: 'audit-stored', text: STORED, values: [minute] };
    const { rows } = await this.client.query<{ tenantId: string; stored: number }>(query);
    return new Map(rows.map(({ tenantId, stored }) => [tenantId, stored]));
  }

  async settle({ tenantId, minute }: UnsettledMinute, counts: MinuteCounts, verdict: MinuteVerdict): Promise<void> {
    const { stored, evaluated } = counts;
    const values = [tenantId, minute, stored, evaluated, verdict.notStored, verdict.notEvaluated];
    await this.client.query(SETTLE, values);
  }
}
