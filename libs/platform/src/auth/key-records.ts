import type { Database } from '@agentlens/database';
import { sql } from 'kysely';
import type { KeyRecord } from './cached-key-directory.ts';

/** Whether the tenant of a key has a rule in force, or a budget, that blocks when it cannot be evaluated. */
const HAS_TO_BLOCK = sql<boolean>`(
  exists (
    select from guardrail_rules r
    where r.tenant_id = api_keys.tenant_id and r.on_unavailable = 'block' and r.deleted_at is null
      and r.enabled and r.mode = 'enforce' and not r.dry_run
  ) or exists (
    select from budgets b where b.tenant_id = api_keys.tenant_id and b.on_unavailable = 'block' and b.deleted_at is null
      and b.enabled
  )
)`;

/**
 * What there is of these keys. Key ids are unique across tenants: this is the one look-up that cannot name a tenant,
 * because it finds it.
 */
export async function readKeyRecords(database: Database, keyIds: readonly string[]): Promise<readonly KeyRecord[]> {
  const rows = await database.db
    .selectFrom('api_keys')
    .innerJoin('tenants', 'tenants.id', 'api_keys.tenant_id')
    .select(['tenant_id', 'key_id', 'secret_hash', 'scopes', 'agents', 'events_per_second', 'expires_at', 'revoked_at'])
    .select(['decision_fail_mode', 'decision_arguments'])
    .select(HAS_TO_BLOCK.as('has_to_block'))
    .where('key_id', '=', sql<string>`any(${keyIds}::text[])`)
    .execute();
  return rows.map((row) => ({
    tenantId: row.tenant_id,
    keyId: row.key_id,
    secretHash: row.secret_hash,
    scopes: row.scopes,
    agents: row.agents,
    eventsPerSecond: row.events_per_second,
    decisionFailMode: row.has_to_block ? 'block' : row.decision_fail_mode,
    keepsArguments: row.decision_arguments === 'redacted',
    expiresAtMs: row.expires_at === null ? null : Date.parse(row.expires_at),
    revokedAtMs: row.revoked_at === null ? null : Date.parse(row.revoked_at),
  }));
}

/** Most keys one statement names. */
const MOST_AT_ONCE = 500;
/** A key that is read before it is needed waits so long for others. */
const GATHER_MS = 250;

type Reading<T> = PromiseWithResolvers<T | null>;

/**
 * Gathers keys into few statements, of which one is under way at a time: what is asked for meanwhile goes together in the
 * next one. So a thousand tenants that send now and then cost a few statements a second, not one each.
 */
export class KeyReads<T> {
  readonly #waiting = new Map<string, Reading<T>>();
  /** Of the statement under way, without what was forgotten since. */
  readonly #running = new Map<string, Reading<T>>();
  #isBusy = false;
  /** Somebody waits for one of those that wait. */
  #isUrgent = false;
  #isGathering = false;

  constructor(
    /** Answers what there is of every key; null where keys cannot be read now. Never rejects. */
    private readonly read: (keyIds: readonly string[]) => Promise<ReadonlyMap<string, T> | null>,
    /** Told what was found of a key, unless it was forgotten meanwhile. */
    private readonly keep: (keyId: string, found: T) => void,
  ) {}

  /** Reads a key at once, or after the statement that is under way. Null where keys cannot be read now. */
  now(keyId: string): Promise<T | null> {
    const running = this.#running.get(keyId);
    if (running !== undefined) return running.promise;
    const { promise } = this.#join(keyId);
    this.#isUrgent = true;
    void this.#leave();
    return promise;
  }

  /** Reads a key along with others before long; nobody waits for it. */
  soon(keyId: string): void {
    if (this.#running.has(keyId)) return;
    this.#join(keyId);
    if (this.#isGathering) return;
    this.#isGathering = true;
    setTimeout(() => {
      this.#isGathering = false;
      this.#isUrgent = true;
      void this.#leave();
    }, GATHER_MS).unref();
  }

  /** What is under way may have been read before the key changed: who asks from now on has it read again. */
  forget(keyId: string): void {
    this.#running.delete(keyId);
  }

  #join(keyId: string): Reading<T> {
    const present = this.#waiting.get(keyId) ?? Promise.withResolvers<T | null>();
    this.#waiting.set(keyId, present);
    return present;
  }

  async #leave(): Promise<void> {
    if (this.#isBusy || this.#waiting.size === 0) return;
    this.#isBusy = true;
    const leaving = [...this.#waiting].slice(0, MOST_AT_ONCE);
    for (const [keyId, reading] of leaving) {
      this.#waiting.delete(keyId);
      this.#running.set(keyId, reading);
    }
    this.#isUrgent = this.#waiting.size > 0;
    const found = await this.read(leaving.map(([keyId]) => keyId));
    for (const [keyId, reading] of leaving) this.#settle(keyId, reading, found?.get(keyId) ?? null);
    this.#isBusy = false;
    if (found === null) this.#giveUp();
    else if (this.#isUrgent) void this.#leave();
  }

  #settle(keyId: string, reading: Reading<T>, found: T | null): void {
    if (this.#running.get(keyId) === reading) {
      this.#running.delete(keyId);
      if (found !== null) this.keep(keyId, found);
    }
    reading.resolve(found);
  }

  /** Who waited behind a statement that failed is not made to wait for another one. */
  #giveUp(): void {
    for (const { resolve } of this.#waiting.values()) resolve(null);
    this.#waiting.clear();
    this.#isUrgent = false;
  }
}
