import { type Role, TreeLimits } from '@agentlens/contracts';
import type { ApiKeysTable, Database } from '@agentlens/database';
import { type Selectable, sql } from 'kysely';
import type { KeyRecord, PersonRecord } from './cached-key-directory.ts';

/** True if the tenant has an active rule or a budget that blocks when it cannot be evaluated. */
const HAS_TO_BLOCK = sql<boolean>`(
  exists (
    select from guardrail_rules r
    where r.tenant_id = api_keys.tenant_id and r.on_unavailable = 'block' and r.deleted_at is null
      and r.enabled and r.mode = 'enforce' and not r.dry_run
      and coalesce((r.suspended->>'until')::timestamptz <= now(), true)
  ) or exists (
    select from budgets b where b.tenant_id = api_keys.tenant_id and b.on_unavailable = 'block' and b.deleted_at is null
      and b.enabled
  )
)`;

/** Browser sessions of the key that were ended before they expire. */
const ENDED_SESSIONS = sql<string[]>`array(
  select session_id from browser_sessions s
  where s.key_id = api_keys.key_id and s.tenant_id = api_keys.tenant_id and s.ended_at is not null
)`;

/** The person of a key with roles, teams and the agents of these teams; null for a key of a program. */
const PERSON = sql<StoredPerson | null>`(
  select json_build_object(
    'name', p.name,
    'isDisabled', p.state = 'disabled',
    'claimsUntil', p.claims_until,
    'grants', coalesce((select json_agg(json_build_object('role', g.role, 'team', nullif(g.team_id, ''), 'source', g.source))
      from person_grants g where g.tenant_id = p.tenant_id and g.person_id = p.person_id), '[]'),
    'teams', coalesce((select json_agg(distinct m.team_id)
      from team_members m where m.tenant_id = p.tenant_id and m.person_id = p.person_id), '[]'),
    'agentsOfTeams', coalesce((select json_object_agg(t.team_id, t.agents) from teams t
      where t.tenant_id = p.tenant_id and t.team_id in (select g.team_id from person_grants g
        where g.tenant_id = p.tenant_id and g.person_id = p.person_id)), '{}')
  ) from people p where p.tenant_id = api_keys.tenant_id and p.person_id = api_keys.person_id
)`;

interface StoredPerson {
  readonly name: string;
  readonly isDisabled: boolean;
  readonly claimsUntil: string | null;
  readonly grants: readonly {
    readonly role: Role;
    readonly team: string | null;
    readonly source: 'provider' | 'manual';
  }[];
  readonly teams: readonly string[];
  readonly agentsOfTeams: Readonly<Record<string, readonly string[]>>;
}

type PersonColumns = Pick<
  Selectable<ApiKeysTable>,
  'person_id' | 'via' | 'signed_in_at' | 'idle_seconds' | 'last_used_at' | 'created_at'
>;

/** A key whose person is missing has no rights. */
function readPerson(row: PersonColumns & { readonly person: StoredPerson | null }): { readonly person?: PersonRecord } {
  if (row.person_id === null) return {};
  const { person } = row;
  return {
    person: {
      personId: row.person_id,
      name: person?.name ?? row.person_id,
      isDisabled: person === null || person.isDisabled,
      via: row.via ?? 'api',
      signedInAt: row.signed_in_at ?? row.created_at,
      ...(row.signed_in_at === null ? {} : { credentialsAt: row.signed_in_at }),
      idleMs: row.idle_seconds === null ? null : row.idle_seconds * 1_000,
      lastUsedAtMs: Date.parse(row.last_used_at ?? row.created_at),
      claimsUntilMs: person === null || person.claimsUntil === null ? 0 : Date.parse(person.claimsUntil),
      grants: (person?.grants ?? []).map(({ team, ...grant }) => (team === null ? grant : { ...grant, team })),
      teams: person?.teams ?? [],
      agentsOfTeams: person?.agentsOfTeams ?? {},
    },
  };
}

/** Reads the records of keys. Key ids are unique across tenants: this lookup finds the tenant, so it cannot name it. */
export async function readKeyRecords(database: Database, keyIds: readonly string[]): Promise<readonly KeyRecord[]> {
  const rows = await database.db
    .selectFrom('api_keys')
    .innerJoin('tenants', 'tenants.id', 'api_keys.tenant_id')
    .select(['tenant_id', 'key_id', 'secret_hash', 'scopes', 'agents', 'events_per_second', 'expires_at', 'revoked_at'])
    .select(['decision_fail_mode', 'decision_arguments', 'decision_path', 'denied_calls', 'tree_limits'])
    .select(['person_id', 'via', 'signed_in_at', 'idle_seconds', 'last_used_at', 'api_keys.created_at', 'break_glass'])
    .select(PERSON.as('person'))
    .select(HAS_TO_BLOCK.as('has_to_block'))
    .select(ENDED_SESSIONS.as('ended_sessions'))
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
    decisionPath: row.decision_path,
    keepsArguments: row.decision_arguments === 'redacted',
    asksAgain: row.denied_calls === 'ask',
    ...(row.tree_limits === null ? {} : { treeLimits: TreeLimits.parse(row.tree_limits) }),
    endedSessions: row.ended_sessions,
    expiresAtMs: row.expires_at === null ? null : Date.parse(row.expires_at),
    revokedAtMs: row.revoked_at === null ? null : Date.parse(row.revoked_at),
    ...readPerson(row),
    ...(row.break_glass ? { breakGlass: true } : {}),
  }));
}

/** Maximum number of keys per statement. */
const MAX_PER_STATEMENT = 500;
/** A background read waits this long for others. */
const GATHER_MS = 250;

type Reading<T> = PromiseWithResolvers<T | null>;

/**
 * Batches key reads: one statement runs at a time, and keys requested meanwhile share the next one. A thousand tenants
 * that send now and then cost a few statements per second.
 */
export class KeyReads<T> {
  readonly #waiting = new Map<string, Reading<T>>();
  /** Reads of the running statement, without keys that were evicted since. */
  readonly #running = new Map<string, Reading<T>>();
  #isBusy = false;
  /** True if a caller waits for one of the pending reads. */
  #isUrgent = false;
  #isGathering = false;

  constructor(
    /** Returns the records found, or null if keys cannot be read. Never rejects. */
    private readonly read: (keyIds: readonly string[]) => Promise<ReadonlyMap<string, T> | null>,
    /** Called with each record, unless the key was evicted meanwhile. */
    private readonly keep: (keyId: string, found: T) => void,
  ) {}

  /** Reads a key now, or after the running statement. Null if keys cannot be read. */
  now(keyId: string): Promise<T | null> {
    const running = this.#running.get(keyId);
    if (running !== undefined) return running.promise;
    const { promise } = this.#join(keyId);
    this.#isUrgent = true;
    void this.#leave();
    return promise;
  }

  /** Reads a key in the background, together with others. */
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

  /** The running statement may have read the old record, so later callers read again. */
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
    const leaving = [...this.#waiting].slice(0, MAX_PER_STATEMENT);
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

  /** Callers that waited behind a failed statement do not wait for another one. */
  #giveUp(): void {
    for (const { resolve } of this.#waiting.values()) resolve(null);
    this.#waiting.clear();
    this.#isUrgent = false;
  }
}
