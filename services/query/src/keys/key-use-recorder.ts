import { type KeyUsed, keyUsed } from '@agentlens/contracts';
import type { Database } from '@agentlens/database';
import type { EventBus, Subscription } from '@agentlens/messaging';
import { type Platform, port } from '@agentlens/platform';
import { type BeforeApplicationShutdown, Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { sql } from 'kysely';

/** Batch interval. One statement per key would cost one disk sync each. */
const GATHER_MS = 1_000;

/**
 * Records when each key was last used, as reported by the instances that check keys. A lost message makes the time up
 * to a minute stale.
 */
@Injectable()
export class KeyUseRecorder implements OnApplicationBootstrap, BeforeApplicationShutdown {
  /** The newest unrecorded use of each key. */
  readonly #pending = new Map<string, KeyUsed>();
  #subscription: Subscription | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    @Inject(port('bus')) private readonly bus: EventBus,
    @Inject(port('database')) private readonly database: Database,
    @Inject(port('logger')) private readonly logger: Platform['logger'],
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    this.#subscription = await this.bus.watch(keyUsed, { from: 'new' }, ({ value }) => this.#note(value));
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.#subscription?.close();
    clearTimeout(this.#timer);
    await this.#record();
  }

  #note(use: KeyUsed): void {
    const known = this.#pending.get(use.keyId);
    if (known === undefined || known.at < use.at) this.#pending.set(use.keyId, use);
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void this.#record();
    }, GATHER_MS);
  }

  async #record(): Promise<void> {
    const uses = [...this.#pending.values()];
    this.#pending.clear();
    if (uses.length === 0) return;
    try {
      await this.#write(uses);
    } catch (error) {
      this.logger.warn({ err: error, keys: uses.length }, 'recording the last use of keys failed');
    }
  }

  /**
   * Every replica receives every use, so the newest time wins regardless of which replica writes it. A replica skips
   * rows that another replica has locked, because waiting could deadlock.
   */
  async #write(uses: readonly KeyUsed[]): Promise<void> {
    await sql`
      with due as (
        select key_id, used.at
        from unnest(
          ${uses.map(({ tenantId }) => tenantId)}::text[],
          ${uses.map(({ keyId }) => keyId)}::text[],
          ${uses.map(({ at }) => at)}::timestamptz[]
        ) as used (tenant, key, at)
        join api_keys on tenant_id = used.tenant and key_id = used.key
        where last_used_at is null or last_used_at < used.at
        for no key update of api_keys skip locked
      )
      update api_keys set last_used_at = due.at from due where api_keys.key_id = due.key_id
    `.execute(this.database.db);
  }
}
