import type { Database } from '@agentlens/database';
import { DATABASE, HEALTH, type HealthRegistry } from '@agentlens/platform';
import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';

/** Readiness check: query cannot serve reads without its database. */
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
