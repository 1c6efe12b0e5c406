import type { Database } from '@agentlens/database';
import { DATABASE, HEALTH, type HealthRegistry } from '@agentlens/platform';
import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';

/** Without its database this service can answer next to nothing: it then asks for no requests. */
@Injectable()
export class DatabaseReadiness implements OnApplicationBootstrap {
  constructor(
    @Inject(DATABASE) private readonly database: Database,
    @Inject(HEALTH) private readonly health: HealthRegistry,
  ) {}

  onApplicationBootstrap(): void {
    this.health.add('query-database', async () => {
      await this.database.ping();
      return { ok: true };
    });
  }
}
