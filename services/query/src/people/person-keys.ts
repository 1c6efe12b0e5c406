import { type AccessWay, keysChanged, PERSON_SCOPES, type Scope } from '@agentlens/contracts';
import type { Database, Tables } from '@agentlens/database';
import type { EventBus } from '@agentlens/messaging';
import { apiKeyHash, type Clock, newApiKey, type Platform, port } from '@agentlens/platform';
import { Inject, Injectable } from '@nestjs/common';
import type { Kysely } from 'kysely';

interface KeyOfPerson {
  readonly tenantId: string;
  readonly personId: string;
  readonly name: string;
  readonly via: AccessWay;
  readonly scopes?: readonly Scope[];
  readonly expiresAtMs: number;
  /** When the provider last asked for credentials. Undefined: it did not say. */
  readonly signedInAtMs?: number | undefined;
  readonly idleSeconds?: number;
  readonly providerId?: string;
  readonly sid?: string;
}

/**
 * Keys that belong to people: the key of each browser session, which only its sealed cookie contains, and personal keys.
 * Checking, expiry and revocation are those of every key, in every process.
 */
@Injectable()
export class PersonKeys {
  constructor(
    @Inject(port('database')) private readonly database: Database,
    @Inject(port('bus')) private readonly bus: EventBus,
    @Inject(port('clock')) private readonly clock: Clock,
    @Inject(port('logger')) private readonly logger: Platform['logger'],
  ) {}

  async create(db: Kysely<Tables>, draft: KeyOfPerson): Promise<{ readonly id: string; readonly key: string }> {
    const { id, key } = newApiKey(draft.via === 'console' ? 'session' : 'person');
    await db
      .insertInto('api_keys')
      .values({
        ...{ tenant_id: draft.tenantId, key_id: id, name: draft.name, secret_hash: apiKeyHash(key) },
        ...{ scopes: [...(draft.scopes ?? PERSON_SCOPES)], agents: null, events_per_second: null },
        ...{ created_at: this.#at(), last_used_at: null, revoked_at: null },
        expires_at: this.#at(draft.expiresAtMs),
        signed_in_at: draft.signedInAtMs === undefined ? null : this.#at(draft.signedInAtMs),
        ...{ person_id: draft.personId, via: draft.via, idle_seconds: draft.idleSeconds ?? null },
        ...{ provider_id: draft.providerId ?? null, sid: draft.sid ?? null },
      })
      .execute();
    return { id, key };
  }

  /** Deletes expired keys of sessions. */
  async deleteExpired(db: Kysely<Tables>, tenantId: string, personId: string): Promise<void> {
    await db
      .deleteFrom('api_keys')
      .where('tenant_id', '=', tenantId)
      .where('person_id', '=', personId)
      .where('via', '=', 'console')
      .where('expires_at', '<', this.#at())
      .execute();
  }

  async revoke(
    db: Kysely<Tables>,
    tenantId: string,
    of: {
      readonly personId?: string;
      readonly keyId?: string;
      readonly providerId?: string;
      /** Null: keys of sessions that the provider has not named. */
      readonly sid?: string | null;
      readonly via?: 'console';
    },
  ): Promise<string[]> {
    let query = db
      .updateTable('api_keys')
      .set((eb) => ({ revoked_at: this.#at(), version: eb('version', '+', 1) }))
      .where('tenant_id', '=', tenantId)
      .where('person_id', 'is not', null)
      .where('revoked_at', 'is', null);
    if (of.personId !== undefined) query = query.where('person_id', '=', of.personId);
    if (of.keyId !== undefined) query = query.where('key_id', '=', of.keyId);
    if (of.providerId !== undefined) query = query.where('provider_id', '=', of.providerId);
    if (of.sid === null) query = query.where('sid', 'is', null);
    else if (of.sid !== undefined) query = query.where('sid', '=', of.sid);
    if (of.via !== undefined) query = query.where('via', '=', of.via);
    const revoked = await query.returning('key_id').execute();
    return revoked.map(({ key_id }) => key_id);
  }

  /** Ids of keys that work or may work again. */
  async idsOf(tenantId: string, personId: string): Promise<string[]> {
    const rows = await this.database.db
      .selectFrom('api_keys')
      .select('key_id')
      .where('tenant_id', '=', tenantId)
      .where('person_id', '=', personId)
      .where('revoked_at', 'is', null)
      .where('expires_at', '>', this.#at())
      .execute();
    return rows.map(({ key_id }) => key_id);
  }

  /** Has every process read these keys, and with them the rights of the person, again. Without it, within 4 s. */
  async announce(tenantId: string, keyIds: readonly string[]): Promise<void> {
    try {
      for (const keyId of keyIds) await this.bus.publish(keysChanged, { tenantId, keyId, at: this.#at() });
    } catch (error) {
      this.logger.warn({ err: error }, 'announcing changed rights of a person failed');
    }
  }

  #at(ms = this.clock.now()): string {
    return new Date(ms).toISOString();
  }
}
