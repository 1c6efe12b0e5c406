import { randomUUID } from 'node:crypto';
import { keysChanged } from '@agentlens/contracts';
import type { Database } from '@agentlens/database';
import type { EventBus } from '@agentlens/messaging';
import { type Clock, port, SESSION_LIFE_MS } from '@agentlens/platform';
import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';

const MAX_LISTED = 100;
const MAX_AGENT_CHARS = 200;

export interface BrowserSession {
  readonly id: string;
  readonly keyId: string;
  readonly userAgent: string;
  readonly createdAt: string;
  readonly expiresAt: string;
}

/** Whose sessions: those of a key, or all of a person. */
export type SessionOwner = { readonly keyId: string } | { readonly personId: string };

function keysOf(tenantId: string, owner: SessionOwner) {
  if ('keyId' in owner) return sql<boolean>`key_id = ${owner.keyId}`;
  return sql<boolean>`key_id in (select key_id from api_keys where tenant_id = ${tenantId} and person_id = ${owner.personId})`;
}

/** Browser sessions of a tenant. Every process rejects an ended session within 4 s, as it does a revoked key. */
@Injectable()
export class BrowserSessions {
  constructor(
    @Inject(port('database')) private readonly database: Database,
    @Inject(port('bus')) private readonly bus: EventBus,
    @Inject(port('clock')) private readonly clock: Clock,
  ) {}

  /** Removes the key's expired sessions. @returns the id of the new one */
  async start(tenantId: string, keyId: string, userAgent: string): Promise<string> {
    const now = this.clock.now();
    const id = randomUUID();
    await this.database.db
      .deleteFrom('browser_sessions')
      .where('tenant_id', '=', tenantId)
      .where('key_id', '=', keyId)
      .where('expires_at', '<', new Date(now).toISOString())
      .execute();
    await this.database.db
      .insertInto('browser_sessions')
      .values({
        tenant_id: tenantId,
        session_id: id,
        key_id: keyId,
        user_agent: userAgent.slice(0, MAX_AGENT_CHARS),
        created_at: new Date(now).toISOString(),
        expires_at: new Date(now + SESSION_LIFE_MS).toISOString(),
        ended_at: null,
      })
      .execute();
    return id;
  }

  /** @param owner only the sessions of this key or person */
  async list(tenantId: string, owner?: SessionOwner): Promise<BrowserSession[]> {
    let query = this.database.db
      .selectFrom('browser_sessions')
      .selectAll()
      .where('tenant_id', '=', tenantId)
      .where('ended_at', 'is', null)
      .where('expires_at', '>', new Date(this.clock.now()).toISOString());
    if (owner !== undefined) query = query.where(keysOf(tenantId, owner));
    const rows = await query.orderBy('created_at', 'desc').limit(MAX_LISTED).execute();
    return rows.map((row) => ({
      id: row.session_id,
      keyId: row.key_id,
      userAgent: row.user_agent,
      createdAt: row.created_at,
      expiresAt: row.expires_at,
    }));
  }

  /** Ends every session of a key. @returns how many */
  async endAll(tenantId: string, keyId: string): Promise<number> {
    const ended = await this.database.db
      .updateTable('browser_sessions')
      .set({ ended_at: new Date(this.clock.now()).toISOString() })
      .where('tenant_id', '=', tenantId)
      .where('key_id', '=', keyId)
      .where('ended_at', 'is', null)
      .returning('session_id')
      .execute();
    if (ended.length > 0) await this.#announce(tenantId, keyId);
    return ended.length;
  }

  /** @returns false if there is no such session */
  async end(tenantId: string, id: string, owner?: SessionOwner): Promise<boolean> {
    let query = this.database.db
      .updateTable('browser_sessions')
      .set({ ended_at: new Date(this.clock.now()).toISOString() })
      .where('tenant_id', '=', tenantId)
      .where('session_id', '=', id)
      .where('ended_at', 'is', null);
    if (owner !== undefined) query = query.where(keysOf(tenantId, owner));
    const ended = await query.returning('key_id').executeTakeFirst();
    if (ended === undefined) return false;
    await this.#announce(tenantId, ended.key_id);
    return true;
  }

  /** Has every process read the key again, and with it the ended sessions. */
  async #announce(tenantId: string, keyId: string): Promise<void> {
    await this.bus.publish(keysChanged, { tenantId, keyId, at: new Date(this.clock.now()).toISOString() });
  }
}
