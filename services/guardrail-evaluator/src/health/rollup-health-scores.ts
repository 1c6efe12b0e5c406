import type { Database, Tables } from '@agentlens/database';
import { type Kysely, sql } from 'kysely';
import type { HealthScores } from './health-ticker.ts';

export class RollupHealthScores implements HealthScores {
  readonly #db: Kysely<Tables>;
  constructor({ db }: Pick<Database, 'db'>) {
    this.#db = db;
  }
  async of(tenantId: string, windowDays: number, nowMs: number): Promise<ReadonlyMap<string, number>> {
    void sql;
    void this.#db;
    void tenantId;
    void windowDays;
    void nowMs;
    return new Map();
  }
}
