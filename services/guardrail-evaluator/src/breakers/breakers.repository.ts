import {
  type BreakerChanged,
  type BreakerLimitScope,
  BreakerLimits,
  BreakerState,
  breakerChanged,
  type ChangeAuthor,
  type StoredBreakerLimits,
} from '@agentlens/contracts';
import { type Database, lockUntilEnd, recordChanges, type Tables } from '@agentlens/database';
import type { BreakerRef } from '@agentlens/guardrails';
import type { SettingsReader } from '@agentlens/platform';
import type { Kysely, Transaction } from 'kysely';
import { announceSettings, WRITER } from '../settings/announce-settings.ts';
import type { TenantLimits } from './limits.ts';

/** Maximum number of open breakers returned for one scope. */
const MAX_BREAKERS = 1_000;
/** Limits of runs that have not been changed for this long are no longer loaded. */
const RUNS_KEPT_MS = 7 * 86_400_000;

/** A recorded breaker that is not closed. */
interface RecordedBreaker {
  readonly state: BreakerState;
  readonly version: number;
}
/** Keyed by `recordKey`. */
export type OpenBreakers = ReadonlyMap<string, RecordedBreaker>;

/** The scope that limits are set for. */
export interface LimitsScope {
  readonly scope: BreakerLimitScope;
  readonly scopeId: string;
}

interface ChangeOfLimits {
  readonly changed: (stored: BreakerLimits | undefined) => BreakerLimits | null;
  /** Change the limits only if they are at this version; 0 means only if no limits are set. */
  readonly ifVersion?: number | undefined;
  readonly author?: ChangeAuthor | undefined;
}

interface OtherVersion {
  readonly current: number;
}

/** Identifies the scope in the audit log. */
function targetIdOf({ scope, scopeId }: LimitsScope): string {
  return `${scope}:${scopeId}`;
}

export function recordKey({ scope, scopeId }: BreakerRef): string {
  return `${scope}/${scopeId}`;
}

/** The tables `breaker_limits` and `circuit_breakers`. This service is their only writer. */
export class BreakersRepository {
  readonly #db: Kysely<Tables>;
  readonly #now: () => number;
  /** Tenants that had turned the default breaker off at the last check for changes. */
  #withoutDefault: ReadonlySet<string> = new Set();

  constructor({ db }: Pick<Database, 'db'>, now: () => number) {
    this.#db = db;
    this.#now = now;
  }

  readonly limits: SettingsReader<TenantLimits> = {
    all: () => this.#limitsOf(),
    ofTenant: async (tenantId) => (await this.#limitsOf(tenantId)).get(tenantId),
    changedSince: async (instant) => {
      const rows = await this.#db
        .selectFrom('breaker_limits')
        .select('tenant_id')
        .distinct()
        .where('updated_at', '>=', instant)
        .execute();
      const before = this.#withoutDefault;
      const now = await this.#tenantsWithoutDefault();
      this.#withoutDefault = now;
      const switched = [...before, ...now].filter((tenantId) => before.has(tenantId) !== now.has(tenantId));
      return [...rows.map((row) => row.tenant_id), ...switched];
    },
  };

  readonly open: SettingsReader<OpenBreakers> = {
    all: () => this.#openOf(),
    ofTenant: async (tenantId) => (await this.#openOf(tenantId)).get(tenantId),
    changedSince: async (instant) => {
      const rows = await this.#db
        .selectFrom('circuit_breakers')
        .select('tenant_id')
        .distinct()
        .where('changed_at', '>=', instant)
        .execute();
      return rows.map((row) => row.tenant_id);
    },
  };

  /**
   * Stores the result of `changed` for the limits of a scope. Setting the same limits again creates a new version.
   *
   * @param changed returns null to leave the limits as they are
   */
  async changeLimits(
    tenantId: string,
    ref: LimitsScope,
    { changed, ifVersion, author }: ChangeOfLimits,
  ): Promise<StoredBreakerLimits | OtherVersion | null> {
    const at = new Date(this.#now()).toISOString();
    return this.#db.transaction().execute(async (transaction) => {
      const { stored, current, last } = await lockLimits(transaction, tenantId, ref);
      const next = changed(stored && BreakerLimits.parse(stored));
      if (next === null) return null;
      if (ifVersion !== undefined && ifVersion !== current) return { current };
      const row = { limits: JSON.stringify(next), version: last + 1, updated_at: at, deleted_at: null };
      await transaction
        .insertInto('breaker_limits')
        .values({ tenant_id: tenantId, scope: ref.scope, scope_id: ref.scopeId, ...row })
        .onConflict((conflict) => conflict.columns(['tenant_id', 'scope', 'scope_id']).doUpdateSet(row))
        .execute();
      const change = { tenantId, at, kind: 'breaker_limits.set', targetId: targetIdOf(ref), author } as const;
      await recordChanges(transaction, [{ ...change, before: stored, after: next }]);
      await announceSettings(transaction, tenantId, at);
      return { ...next, version: row.version };
    });
  }

  /** Audits that a person closed a breaker. The state itself lives in the store; its record follows. */
  async recordReset(tenantId: string, ref: BreakerRef, before: object | undefined, author?: ChangeAuthor) {
    const at = new Date(this.#now()).toISOString();
    const after = { kind: 'closed' };
    const targetId = targetIdOf(ref);
    await recordChanges(this.#db, [{ tenantId, at, kind: 'breaker.reset', targetId, author, before, after }]);
  }

  /** @returns null if no limits were set for the scope */
  async deleteLimits(
    tenantId: string,
    ref: LimitsScope,
    { ifVersion, author }: Omit<ChangeOfLimits, 'changed'>,
  ): Promise<'deleted' | OtherVersion | null> {
    const at = new Date(this.#now()).toISOString();
    return this.#db.transaction().execute(async (transaction) => {
      const { stored, current, last } = await lockLimits(transaction, tenantId, ref);
      if (stored === undefined) return null;
      if (ifVersion !== undefined && ifVersion !== current) return { current };
      await transaction
        .updateTable('breaker_limits')
        .set({ version: last + 1, updated_at: at, deleted_at: at })
        .where('tenant_id', '=', tenantId)
        .where('scope', '=', ref.scope)
        .where('scope_id', '=', ref.scopeId)
        .execute();
      const kind = 'breaker_limits.deleted';
      const change = { tenantId, at, kind, targetId: targetIdOf(ref), author, before: stored } as const;
      await recordChanges(transaction, [change]);
      await announceSettings(transaction, tenantId, at);
      return 'deleted';
    });
  }

  /** The breakers that are not closed and that these limits may apply to, newest first. */
  async openIn(tenantId: string, { scope, scopeId }: LimitsScope): Promise<(BreakerRef & { agentId: string })[]> {
    let query = this.#db
      .selectFrom('circuit_breakers')
      .select(['scope', 'scope_id as scopeId', 'agent_id as agentId'])
      .where('tenant_id', '=', tenantId)
      .where((eb) => eb(eb.ref('state', '->>').key('kind'), '<>', 'closed'));
    query = query.where('scope', scope === 'tree' ? '=' : '<>', 'tree');
    if (scope === 'agent') query = query.where('agent_id', '=', scopeId);
    if (scope === 'run') query = query.where('scope', '=', 'run').where('scope_id', '=', scopeId);
    return query.orderBy('changed_at', 'desc').limit(MAX_BREAKERS).execute();
  }

  /**
   * Records a state change and announces it in the same transaction, unless the same or a newer version is recorded
   * already.
   */
  async record(change: BreakerChanged): Promise<void> {
    const { tenantId, scope, scopeId, agentId, version, at } = change;
    const state = JSON.stringify(change.state);
    await this.#db.transaction().execute(async (transaction) => {
      const row = await transaction
        .insertInto('circuit_breakers')
        .values({ tenant_id: tenantId, scope, scope_id: scopeId, agent_id: agentId, state, version, changed_at: at })
        .onConflict((conflict) =>
          conflict
            .columns(['tenant_id', 'scope', 'scope_id'])
            .doUpdateSet({ agent_id: agentId, state, version, changed_at: at })
            .where('circuit_breakers.version', '<', version),
        )
        .returning('version')
        .executeTakeFirst();
      if (row === undefined) return;
      await transaction
        .insertInto('outbox')
        .values({ writer: WRITER, topic: breakerChanged.name, body: JSON.stringify(change), created_at: at })
        .execute();
    });
  }

  /** The agent of a run, or that whose usage last changed the breaker of a tree; null if the run is unknown. */
  async agentOf(tenantId: string, scope: 'run' | 'tree', runId: string): Promise<string | null> {
    const recorded = await this.#db
      .selectFrom('circuit_breakers')
      .select('agent_id')
      .where('tenant_id', '=', tenantId)
      .where('scope', '=', scope)
      .where('scope_id', '=', runId)
      .executeTakeFirst();
    if (recorded !== undefined) return recorded.agent_id;
    const run = await this.#db
      .selectFrom('runs')
      .select('agent_id')
      .where('tenant_id', '=', tenantId)
      .where('run_id', '=', runId)
      .executeTakeFirst();
    return run?.agent_id ?? null;
  }

  async #limitsOf(tenantId?: string): Promise<ReadonlyMap<string, TenantLimits>> {
    const newEnough = new Date(this.#now() - RUNS_KEPT_MS).toISOString();
    let query = this.#db
      .selectFrom('breaker_limits')
      .select(['tenant_id', 'scope', 'scope_id', 'limits'])
      .where('deleted_at', 'is', null)
      .where((eb) => eb.or([eb('scope', '<>', 'run'), eb('updated_at', '>=', newEnough)]));
    if (tenantId !== undefined) query = query.where('tenant_id', '=', tenantId);
    const byTenant = Map.groupBy(await query.execute(), (row) => row.tenant_id);
    const withoutDefault = await this.#tenantsWithoutDefault(tenantId);
    for (const tenant of withoutDefault) if (!byTenant.has(tenant)) byTenant.set(tenant, []);
    return new Map(
      [...byTenant].map(([tenant, rows]) => {
        const of = (scope: string) =>
          new Map(
            rows.filter((row) => row.scope === scope).map((row) => [row.scope_id, BreakerLimits.parse(row.limits)]),
          );
        const [own] = of('tenant').values();
        const [tree] = of('tree').values();
        const off = withoutDefault.has(tenant) ? ({ defaultBreaker: 'off' } as const) : {};
        return [
          tenant,
          { ...(own && { tenant: own }), ...(tree && { tree }), ...off, agents: of('agent'), runs: of('run') },
        ] as const;
      }),
    );
  }

  /** Another service changes tenant settings without an announcement, so they are read here. */
  async #tenantsWithoutDefault(tenantId?: string): Promise<ReadonlySet<string>> {
    let query = this.#db.selectFrom('tenants').select('id').where('default_breaker', '=', 'off');
    if (tenantId !== undefined) query = query.where('id', '=', tenantId);
    return new Set((await query.execute()).map(({ id }) => id));
  }

  async #openOf(tenantId?: string): Promise<ReadonlyMap<string, OpenBreakers>> {
    const newEnough = new Date(this.#now() - RUNS_KEPT_MS).toISOString();
    let query = this.#db
      .selectFrom('circuit_breakers')
      .select(['tenant_id', 'scope', 'scope_id', 'state', 'version'])
      .where((eb) => eb(eb.ref('state', '->>').key('kind'), '<>', 'closed'))
      .where((eb) => eb.or([eb('scope', '=', 'agent'), eb('changed_at', '>=', newEnough)]));
    if (tenantId !== undefined) query = query.where('tenant_id', '=', tenantId);
    const byTenant = Map.groupBy(await query.execute(), (row) => row.tenant_id);
    return new Map(
      [...byTenant].map(([tenant, rows]) => [
        tenant,
        new Map(
          rows.map(({ scope, scope_id: scopeId, state, version }) => [
            recordKey({ scope, scopeId }),
            { state: BreakerState.parse(state), version },
          ]),
        ),
      ]),
    );
  }
}

/**
 * Locks the limits of a scope until the transaction ends, including limits that do not exist yet. Returns their version
 * (0 if there are none) and the last version of any earlier limits.
 */
async function lockLimits(transaction: Transaction<Tables>, tenantId: string, { scope, scopeId }: LimitsScope) {
  await lockUntilEnd(transaction, 'breaker-limits', tenantId);
  const row = await transaction
    .selectFrom('breaker_limits')
    .select(['limits', 'version', 'deleted_at'])
    .where('tenant_id', '=', tenantId)
    .where('scope', '=', scope)
    .where('scope_id', '=', scopeId)
    .executeTakeFirst();
  const last = row?.version ?? 0;
  return row?.deleted_at === null
    ? { stored: row.limits, current: last, last }
    : { stored: undefined, current: 0, last };
}
