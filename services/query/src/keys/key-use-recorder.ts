import { keyUsed } from '@agentlens/contracts';
import type { Database } from '@agentlens/database';
import type { EventBus, Subscription } from '@agentlens/messaging';
import { DATABASE, EVENT_BUS, LOGGER, type Platform } from '@agentlens/platform';
import { type BeforeApplicationShutdown, Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';

/** Writes down when keys were last used, as the instances that check them tell. A lost message costs a minute. */
@Injectable()
export class KeyUseRecorder implements OnApplicationBootstrap, BeforeApplicationShutdown {
  #subscription: Subscription | undefined;

  constructor(
    @Inject(EVENT_BUS) private readonly bus: EventBus,
    @Inject(DATABASE) private readonly database: Database,
    @Inject(LOGGER) private readonly logger: Platform['logger'],
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    this.#subscription = await this.bus.watch(keyUsed, { from: 'new' }, ({ value }) => {
      this.#record(value.tenantId, value.keyId, value.at).catch((error: unknown) =>
        this.logger.warn({ err: error, keyId: value.keyId }, 'the last use of a key was not written down'),
      );
    });
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.#subscription?.close();
  }

  /** Every replica hears every use, so the newest time wins, whoever writes it. */
  async #record(tenantId: string, keyId: string, at: string): Promise<void> {
    await this.database.db
      .updateTable('api_keys')
      .set({ last_used_at: at })
      .where('tenant_id', '=', tenantId)
      .where('key_id', '=', keyId)
      .where((row) => row.or([row('last_used_at', 'is', null), row('last_used_at', '<', at)]))
      .execute();
  }
}
