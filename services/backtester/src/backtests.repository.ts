import {
  type Backtest,
  type BacktestExample,
  type BacktestProgress,
  type BacktestResult,
  DAY_MS,
  type GuardrailRule,
} from '@agentlens/contracts';
import { backtestFromRow, type Database, lockUntilEnd, ruleFromRow, type Tables } from '@agentlens/database';
import type { Clock } from '@agentlens/platform';
import { type Kysely, sql } from 'kysely';

const MAX_QUEUED_PER_TENANT = 10;
const MAX_ATTEMPTS = 3;
const LEASE_MS = 30_000;
const KEPT_DAYS = 30;
const ROWS_AT_ONCE = 500;

/** A range that was limited to what is retained has the requested start too. */
export type BacktestSpec = Backtest['spec'] & { readonly ruleId?: string; readonly clampedFrom?: string };

export interface NewBacktest {
  readonly id: string;
  readonly tenantId: string;
  readonly spec: BacktestSpec;
  readonly rule: GuardrailRule;
  readonly inForce?: GuardrailRule | undefined;
  readonly createdAt: string;
  readonly createdBy?: string | undefined;
}

/** A job that this instance holds. */
export interface ClaimedBacktest extends Pick<NewBacktest, 'id' | 'tenantId' | 'spec' | 'rule' | 'inForce'> {
  readonly leaseId: string;
}

export interface FinishedBacktest {
  readonly status: 'succeeded' | 'partial' | 'failed' | 'cancelled';
  readonly progress: BacktestProgress;
  readonly result?: BacktestResult | undefined;
  readonly findings?: readonly BacktestExample[] | undefined;
  readonly error?: string | undefined;
}

/** The tables `backtests` and `backtest_findings`, and the rules that they evaluate. */
export class BacktestsRepository {
  readonly #db: Kysely<Tables>;
  readonly #clock: Clock;

  constructor({ db }: Pick<Database, 'db'>, clock: Clock) {
    this.#db = db;
    this.#clock = clock;
  }

  /** Returns null if the tenant has too many that wait or run. */
  async insert(job: NewBacktest): Promise<Backtest | null> {
    return this.#db.transaction().execute(async (tx) => {
      await lockUntilEnd(tx, 'backtests', job.tenantId);
      const { waiting } = await tx
        .selectFrom('backtests')
        .select(({ fn }) => fn.countAll<number>().as('waiting'))
        .where('tenant_id', '=', job.tenantId)
        .where('status', 'in', ['queued', 'running'])
        .executeTakeFirstOrThrow();
      // One runs, the others wait.
      if (waiting > MAX_QUEUED_PER_TENANT) return null;
      const row = await tx
        .insertInto('backtests')
        .values({
          ...{ tenant_id: job.tenantId, backtest_id: job.id, status: 'queued', created_at: job.createdAt },
          ...{ spec: JSON.stringify(job.spec), rule: JSON.stringify(job.rule), created_by: job.createdBy ?? null },
          in_force: job.inForce === undefined ? null : JSON.stringify(job.inForce),
          progress: JSON.stringify(NO_PROGRESS),
        })
        .returningAll()
        .executeTakeFirstOrThrow();
      return backtestFromRow(row);
    });
  }

  async find(tenantId: string, id: string): Promise<Backtest | null> {
    const row = await this.#one(tenantId, id).selectAll().executeTakeFirst();
    return row === undefined ? null : backtestFromRow(row);
  }

  /** The current version of a rule, or an earlier one; null if it does not exist. */
  async rule(tenantId: string, ruleId: string, version?: number): Promise<GuardrailRule | null> {
    if (version === undefined) {
      const row = await this.#db
        .selectFrom('guardrail_rules')
        .selectAll()
        .where('tenant_id', '=', tenantId)
        .where('rule_id', '=', ruleId)
        .where('deleted_at', 'is', null)
        .executeTakeFirst();
      return row === undefined ? null : ruleFromRow(row);
    }
    const row = await this.#db
      .selectFrom('rule_versions')
      .select('body')
      .where('tenant_id', '=', tenantId)
      .where('rule_id', '=', ruleId)
      .where('version', '=', version)
      .executeTakeFirst();
    return row === undefined ? null : (row.body as unknown as GuardrailRule);
  }

  /**
   * Claims the next job: of tenants without a running job, the one that waited longest since its last start. A job whose
   * instance died starts again after its lease, three times at most.
   */
  async claim(leaseId: string): Promise<ClaimedBacktest | null> {
    const nowMs = this.#clock.now();
    const [now, until] = [nowMs, nowMs + LEASE_MS].map((at) => new Date(at).toISOString());
    await sql`
      update backtests set status = 'failed', error = 'It was interrupted three times', finished_at = ${now}
      where status = 'running' and lease_until < ${now}::timestamptz and attempts >= ${MAX_ATTEMPTS}`.execute(this.#db);
    const { rows } = await sql<{
      tenant_id: string;
      backtest_id: string;
      spec: BacktestSpec;
      rule: GuardrailRule;
      in_force: GuardrailRule | null;
    }>`
      update backtests set status = 'running', lease_id = ${leaseId}, lease_until = ${until}::timestamptz,
        attempts = attempts + 1, started_at = coalesce(started_at, ${now}::timestamptz)
      where (tenant_id, backtest_id) = (
        select b.tenant_id, b.backtest_id from backtests b
        where (b.status = 'queued' or (b.status = 'running' and b.lease_until < ${now}::timestamptz))
          and not exists (select from backtests o where o.tenant_id = b.tenant_id and o.status = 'running'
            and o.backtest_id <> b.backtest_id and o.lease_until >= ${now}::timestamptz)
        order by (select max(o.started_at) from backtests o where o.tenant_id = b.tenant_id) nulls first, b.created_at
        limit 1 for update skip locked
      )
      returning tenant_id, backtest_id, spec, rule, in_force`.execute(this.#db);
    const [row] = rows;
    if (row === undefined) return null;
    const { tenant_id: tenantId, backtest_id: id, spec, rule, in_force } = row;
    return { id, tenantId, spec, rule, inForce: in_force ?? undefined, leaseId };
  }

  /** Renews the lease and stores the progress. Returns `go on` if the job is still wanted and held. */
  async renew({ tenantId, id, leaseId }: ClaimedBacktest, progress: BacktestProgress): Promise<'go on' | 'stop'> {
    const until = new Date(this.#clock.now() + LEASE_MS).toISOString();
    const row = await this.#db
      .updateTable('backtests')
      .set({ lease_until: until, progress: JSON.stringify(progress) })
      .where('tenant_id', '=', tenantId)
      .where('backtest_id', '=', id)
      .where('lease_id', '=', leaseId)
      .where('status', '=', 'running')
      .returning('cancel_requested')
      .executeTakeFirst();
    return row === undefined || row.cancel_requested ? 'stop' : 'go on';
  }

  /** Does nothing if another instance holds the job by now. */
  async finish({ tenantId, id, leaseId }: ClaimedBacktest, done: FinishedBacktest): Promise<void> {
    await this.#db.transaction().execute(async (tx) => {
      const held = await tx
        .updateTable('backtests')
        .set({
          ...{ status: done.status, progress: JSON.stringify(done.progress), error: done.error ?? null },
          result: done.result === undefined ? null : JSON.stringify(done.result),
          ...{ finished_at: new Date(this.#clock.now()).toISOString(), lease_id: null, lease_until: null },
        })
        .where('tenant_id', '=', tenantId)
        .where('backtest_id', '=', id)
        .where('lease_id', '=', leaseId)
        .returning('backtest_id')
        .executeTakeFirst();
      if (held === undefined) return;
      const findings = (done.findings ?? []).map((one, n) => ({
        ...{ tenant_id: tenantId, backtest_id: id, n, kind: one.kind, at: one.at, outcome: one.outcome },
        body: JSON.stringify(one),
      }));
      for (let from = 0; from < findings.length; from += ROWS_AT_ONCE) {
        await tx
          .insertInto('backtest_findings')
          .values(findings.slice(from, from + ROWS_AT_ONCE))
          .execute();
      }
    });
  }

  /** Gives the job to the next instance, because this one shuts down. */
  async release({ tenantId, id, leaseId }: ClaimedBacktest): Promise<void> {
    await this.#db
      .updateTable('backtests')
      .set((eb) => ({ status: 'queued', lease_id: null, lease_until: null, attempts: eb('attempts', '-', 1) }))
      .where('tenant_id', '=', tenantId)
      .where('backtest_id', '=', id)
      .where('lease_id', '=', leaseId)
      .execute();
  }

  /** A job that waits ends at once; a running one ends at its next page. */
  async cancel(tenantId: string, id: string): Promise<void> {
    const now = new Date(this.#clock.now()).toISOString();
    await sql`
      update backtests set cancel_requested = true,
        finished_at = case when status = 'queued' then ${now}::timestamptz end,
        status = case when status = 'queued' then 'cancelled' else status end
      where tenant_id = ${tenantId} and backtest_id = ${id} and status in ('queued', 'running')`.execute(this.#db);
  }

  async dropOld(): Promise<void> {
    const before = new Date(this.#clock.now() - KEPT_DAYS * DAY_MS).toISOString();
    await this.#db.deleteFrom('backtests').where('finished_at', '<', before).execute();
  }

  #one(tenantId: string, id: string) {
    return this.#db.selectFrom('backtests').where('tenant_id', '=', tenantId).where('backtest_id', '=', id);
  }
}

export const NO_PROGRESS: BacktestProgress = { events: 0, decisions: 0, perSecond: 0 };
