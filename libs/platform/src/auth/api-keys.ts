import { type AuditedChange, type ChangeAuthor, keysChanged, type Scope } from '@agentlens/contracts';
import { type ApiKeysTable, type Database, lockUntilEnd, recordChanges } from '@agentlens/database';
import type { EventBus } from '@agentlens/messaging';
import { type Selectable, sql } from 'kysely';
import type { Logger } from 'pino';
import type { Clock } from '../platform.ts';
import { apiKeyHash, newApiKey } from './api-key.ts';

interface LiveKeyQuestion {
  readonly tenantId: string;
  readonly scope: Scope;
  /** RFC 3339. */
  readonly now: string;
  /** A key to ignore. */
  readonly otherThan?: string;
}

/** True if the tenant has a key with this scope that is valid at `now`. */
export async function hasLiveKey(
  db: Database['db'],
  { tenantId, scope, now, otherThan = '' }: LiveKeyQuestion,
): Promise<boolean> {
  const live = await db
    .selectFrom('api_keys')
    .select('key_id')
    .where('tenant_id', '=', tenantId)
    .where('key_id', '!=', otherThan)
    .where(sql<boolean>`${scope} = any(scopes)`)
    // A key of a person has only the rights that the person has at the time.
    .where('person_id', 'is', null)
    .where('revoked_at', 'is', null)
    .where((where) => where.or([where('expires_at', 'is', null), where('expires_at', '>', now)]))
    .limit(1)
    .executeTakeFirst();
  return live !== undefined;
}

/** A key without its secret. */
export interface ApiKey {
  readonly id: string;
  readonly tenantId: string;
  readonly name: string;
  readonly scopes: readonly string[];
  /** Agents that the key is bound to; null means every agent of the tenant. */
  readonly agents: readonly string[] | null;
  readonly eventsPerSecond: number | null;
  readonly createdAt: string;
  readonly lastUsedAt: string | null;
  readonly expiresAt: string | null;
  readonly revokedAt: string | null;
  /** Signs a person in while single sign-on is required. */
  readonly breakGlass: boolean;
  /** Incremented with each change. Use of the key is not a change. */
  readonly version: number;
}

/** A key with its secret, which is returned only once. */
export interface NewApiKey extends ApiKey {
  readonly key: string;
}

interface ApiKeyDraft {
  readonly tenantId: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** Absent: every agent of the tenant. */
  readonly agents?: readonly string[];
  /** Absent: the default of the platform. */
  readonly eventsPerSecond?: number;
  readonly expiresAt?: string;
  readonly breakGlass?: boolean;
  /** Author of the creation or rotation, for the audit. */
  readonly author?: ChangeAuthor;
}

interface KeysAsked {
  readonly limit: number;
  readonly offset?: number;
  /** The last key of the previous page. */
  readonly after?: { readonly at: string; readonly id: string };
}

interface ChangeOfKey {
  /** The change applies only if the key is at this version. */
  readonly ifVersion?: number | undefined;
  readonly author?: ChangeAuthor | undefined;
}

interface OtherVersion {
  readonly kind: 'other_version';
  readonly current: number;
}

type RotateResult =
  | { readonly kind: 'rotated'; readonly key: NewApiKey; readonly previous: ApiKey }
  | { readonly kind: 'unknown' | 'not_live' }
  | OtherVersion;

type RevokeResult = { readonly kind: 'revoked' | 'unknown' | 'already_revoked' | 'last_of_scope' } | OtherVersion;

/** Time to roll out a new key; both keys work until then. */
const ROTATION_GRACE_MS = 24 * 60 * 60_000;

interface KeyChange extends Pick<AuditedChange, 'kind' | 'tenantId' | 'author'> {
  readonly before?: ApiKey;
  readonly after: ApiKey;
}

/** Scopes whose keys can create keys. */
const MAKERS = ['admin', 'platform'] as const;

type Row = Selectable<ApiKeysTable>;

/** Creates, rotates and revokes API keys. Only `query` may write them. Announces every change to all instances. */
export class ApiKeys {
  readonly #database: Database;
  readonly #bus: EventBus;
  readonly #clock: Clock;
  readonly #logger: Logger;

  constructor(database: Database, bus: EventBus, clock: Clock, logger: Logger) {
    this.#database = database;
    this.#bus = bus;
    this.#clock = clock;
    this.#logger = logger;
  }

  create(draft: ApiKeyDraft): Promise<NewApiKey> {
    return this.#database.db.transaction().execute((db) => this.createIn(db, draft));
  }

  /** Creates a key within a transaction of the caller. */
  async createIn(db: Database['db'], draft: ApiKeyDraft): Promise<NewApiKey> {
    const made = await this.#insert(db, draft);
    const { key: _, ...after } = made;
    await this.#record(db, { kind: 'key.created', tenantId: draft.tenantId, author: draft.author, after });
    return made;
  }

  async #insert(db: Database['db'], draft: ApiKeyDraft): Promise<NewApiKey> {
    const { id, key } = newApiKey();
    const row = await db
      .insertInto('api_keys')
      .values({
        tenant_id: draft.tenantId,
        key_id: id,
        name: draft.name,
        secret_hash: apiKeyHash(key),
        scopes: [...draft.scopes],
        agents: draft.agents === undefined ? null : [...draft.agents],
        events_per_second: draft.eventsPerSecond ?? null,
        created_at: this.#now(),
        last_used_at: null,
        expires_at: draft.expiresAt ?? null,
        revoked_at: null,
        break_glass: draft.breakGlass ?? false,
      })
      .returningAll()
      .executeTakeFirstOrThrow();
    return { ...apiKeyOf(row), key };
  }

  /** Newest first, from the key that follows `after`. */
  async list(tenantId: string, { limit, offset = 0, after }: KeysAsked): Promise<readonly ApiKey[]> {
    let query = this.#database.db
      .selectFrom('api_keys')
      .selectAll()
      .where('tenant_id', '=', tenantId)
      .where('person_id', 'is', null);
    if (after !== undefined) {
      query = query.where(sql<boolean>`(created_at, key_id) < (${after.at}::timestamptz, ${after.id})`);
    }
    const rows = await query
      .orderBy('created_at', 'desc')
      .orderBy('key_id', 'desc')
      .limit(limit)
      .offset(offset)
      .execute();
    return rows.map(apiKeyOf);
  }

  /** Creates a key with the same rights and expiry; the old one works for another day. */
  async rotate(tenantId: string, keyId: string, change: ChangeOfKey = {}): Promise<RotateResult> {
    const result = await this.#database.db.transaction().execute((db) => this.#rotate(db, tenantId, keyId, change));
    if (result.kind === 'rotated') await this.#announce(tenantId, keyId);
    return result;
  }

  async #rotate(
    db: Database['db'],
    tenantId: string,
    keyId: string,
    { ifVersion, author }: ChangeOfKey,
  ): Promise<RotateResult> {
    const old = await lockKey(db, tenantId, keyId);
    if (old === undefined) return { kind: 'unknown' };
    if (isOther(ifVersion, old)) return { kind: 'other_version', current: old.version };
    if (!this.#isLive(old)) return { kind: 'not_live' };
    const key = await this.#insert(db, {
      tenantId,
      name: old.name,
      scopes: old.scopes as Scope[],
      agents: old.agents ?? undefined,
      eventsPerSecond: old.events_per_second ?? undefined,
      expiresAt: old.expires_at ?? undefined,
    });
    const graceEnd = new Date(this.#clock.now() + ROTATION_GRACE_MS).toISOString();
    const previous = await db
      .updateTable('api_keys')
      .set({
        expires_at: old.expires_at !== null && old.expires_at < graceEnd ? old.expires_at : graceEnd,
        version: old.version + 1,
      })
      .where('tenant_id', '=', tenantId)
      .where('key_id', '=', keyId)
      .returningAll()
      .executeTakeFirstOrThrow();
    const { key: _, ...after } = key;
    await this.#record(db, { kind: 'key.rotated', tenantId, author, before: apiKeyOf(old), after });
    return { kind: 'rotated', key, previous: apiKeyOf(previous) };
  }

  /** Serialised per tenant, so that two admins cannot revoke each other's last key. */
  async revoke(tenantId: string, keyId: string, { ifVersion, author }: ChangeOfKey = {}): Promise<RevokeResult> {
    const result = await this.#database.db.transaction().execute(async (db): Promise<RevokeResult> => {
      await lockUntilEnd(db, 'revoke-key', tenantId);
      const key = await lockKey(db, tenantId, keyId);
      if (key === undefined) return { kind: 'unknown' };
      if (isOther(ifVersion, key)) return { kind: 'other_version', current: key.version };
      if (key.revoked_at !== null) return { kind: 'already_revoked' };
      if (await this.#isLastOfScope(db, key)) return { kind: 'last_of_scope' };
      const revoked = await db
        .updateTable('api_keys')
        .set({ revoked_at: this.#now(), version: key.version + 1 })
        .where('tenant_id', '=', tenantId)
        .where('key_id', '=', keyId)
        .returningAll()
        .executeTakeFirstOrThrow();
      const change = { before: apiKeyOf(key), after: apiKeyOf(revoked) };
      await this.#record(db, { kind: 'key.revoked', tenantId, author, ...change });
      return { kind: 'revoked' };
    });
    if (result.kind === 'revoked') await this.#announce(tenantId, keyId);
    return result;
  }

  /** Audit rows name the key by id; for a rotation, that of the old key. */
  async #record(db: Database['db'], change: KeyChange): Promise<void> {
    await recordChanges(db, [{ ...change, at: this.#now(), targetId: (change.before ?? change.after).id }]);
  }

  /** Without such a key the tenant could create no other. */
  async #isLastOfScope(db: Database['db'], key: Row): Promise<boolean> {
    const scope = MAKERS.find((one) => key.scopes.includes(one));
    if (scope === undefined || !this.#isLive(key)) return false;
    return !(await hasLiveKey(db, { tenantId: key.tenant_id, scope, now: this.#now(), otherThan: key.key_id }));
  }

  #isLive(row: Row): boolean {
    return row.revoked_at === null && (row.expires_at === null || row.expires_at > this.#now());
  }

  /** Speeds up propagation. Without it, every instance reads the key again within 4 s. */
  async #announce(tenantId: string, keyId: string): Promise<void> {
    try {
      await this.#bus.publish(keysChanged, { tenantId, keyId, at: this.#now() });
    } catch (error) {
      this.#logger.warn({ err: error, keyId }, 'announcing a change of an API key failed');
    }
  }

  #now(): string {
    return new Date(this.#clock.now()).toISOString();
  }
}

function isOther(ifVersion: number | undefined, { version }: Row): boolean {
  return ifVersion !== undefined && ifVersion !== version;
}

/**
 * Locks the key of a program until the end of the transaction. A key of a person is changed by that person only: its
 * successor would let an administrator act as another person.
 */
function lockKey(db: Database['db'], tenantId: string, keyId: string): Promise<Row | undefined> {
  return db
    .selectFrom('api_keys')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('key_id', '=', keyId)
    .where('person_id', 'is', null)
    .forUpdate()
    .executeTakeFirst();
}

function apiKeyOf(row: Row): ApiKey {
  return {
    id: row.key_id,
    tenantId: row.tenant_id,
    name: row.name,
    scopes: row.scopes,
    agents: row.agents,
    eventsPerSecond: row.events_per_second,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
    breakGlass: row.break_glass,
    version: row.version,
  };
}
