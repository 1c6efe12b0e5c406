import { type KeyUsed, keyUsed } from '@agentlens/contracts';
import type { Database } from '@agentlens/database';
import type { EventBus, Subscription } from '@agentlens/messaging';
import { DATABASE, EVENT_BUS, LOGGER, type Platform } from '@agentlens/platform';
import { type BeforeApplicationShutdown, Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { sql } from 'kysely';

/** What is told meanwhile is written in one statement: of a thousand keys, each for itself would be a sync to disk. */
const GATHER_MS = 1_000;

/** Writes down when keys were last used, as the instances that check them tell. A lost message costs a minute. */
@Injectable()
export class KeyUseRecorder implements OnApplicationBootstrap, BeforeApplicationShutdown {
  /** The newest use of each key that is not written down yet. */
  readonly #told = new Map<string, KeyUsed>();
  #subscription: Subscription | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    @Inject(EVENT_BUS) private readonly bus: EventBus,
    @Inject(DATABASE) private readonly database: Database,
    @Inject(LOGGER) private readonly logger: Platform['logger'],
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
    const known = this.#told.get(use.keyId);
    if (known === undefined || known.at < use.at) this.#told.set(use.keyId, use);
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void this.#record();
    }, GATHER_MS);
  }

  async #record(): Promise<void> {
    const uses = [...this.#told.values()];
    this.#told.clear();
    if (uses.length === 0) return;
    try {
      await this.#write(uses);
    } catch (error) {
      this.logger.warn({ err: error, keys: uses.length }, 'the last use of some keys was not written down');
    }
  }

  /**
   * Every replica hears every use, so the newest time wins, whoever writes it; and a key that another one is writing is
   * left to it, for two that waited for each other's would be a deadlock.
   */
  async #write(uses: readonly KeyUsed[]): Promise<void> {
    await sql`
      with due as (
        select key_id, told.at
        from unnest(
          ${uses.map(({ tenantId }) => tenantId)}::text[],
          ${uses.map(({ keyId }) => keyId)}::text[],
          ${uses.map(({ at }) => at)}::timestamptz[]
        ) as told (tenant, key, at)
        join api_keys on tenant_id = told.tenant and key_id = told.key
        where last_used_at is null or last_used_at < told.at
        for no key update of api_keys skip locked
      )
      update api_keys set last_used_at = due.at from due where api_keys.key_id = due.key_id
    `.execute(this.database.db);
  }
}
