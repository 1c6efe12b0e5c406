import type { Database } from '@agentlens/database';
import type { AgentFacts } from '@agentlens/guardrails';
import type { Clock } from '@agentlens/platform';
import { SingleFlight } from '@agentlens/state';

/** Maximum age of cached agent data before it is refreshed. */
const FRESH_MS = 10_000;
/** Maximum age if the agent is not in the cache, because it may have registered since. */
const UNKNOWN_FRESH_MS = 1_000;

interface Known {
  readonly agents: ReadonlyMap<string, AgentFacts>;
  readonly readAtMs: number;
}

/**
 * Tags of registered agents, for rules that select agents by tag. Read per tenant on first use and refreshed in the
 * background; later questions use the cached data. Only the first question of a tenant, and questions of unknown
 * agents, wait for Postgres.
 */
export class AgentDirectory {
  readonly #db: Database['db'];
  readonly #clock: Clock;
  readonly #known = new Map<string, Known>();
  readonly #reading = new SingleFlight<Known>();

  constructor({ db }: Pick<Database, 'db'>, clock: Clock) {
    this.#db = db;
    this.#clock = clock;
  }

  /** Returns null if the agent never registered. */
  async agent(tenantId: string, agentId: string): Promise<AgentFacts | null> {
    const known = this.#known.get(tenantId);
    if (known === undefined) return (await this.#read(tenantId)).agents.get(agentId) ?? null;
    const found = known.agents.get(agentId);
    const ageMs = this.#clock.now() - known.readAtMs;
    if (ageMs < (found === undefined ? UNKNOWN_FRESH_MS : FRESH_MS)) return found ?? null;
    // Cached data is used while Postgres is unavailable.
    const read = this.#read(tenantId).catch(() => known);
    return found ?? (await read).agents.get(agentId) ?? null;
  }

  #read(tenantId: string): Promise<Known> {
    return this.#reading.run(tenantId, () => this.#readNow(tenantId));
  }

  async #readNow(tenantId: string): Promise<Known> {
    const rows = await this.#db
      .selectFrom('agents')
      .select(['agent_id', 'tags'])
      .where('tenant_id', '=', tenantId)
      .where('slug', 'is not', null)
      .execute();
    const agents = new Map(rows.map(({ agent_id, tags }) => [agent_id, { tags }] as const));
    const known = { agents, readAtMs: this.#clock.now() };
    this.#known.set(tenantId, known);
    return known;
  }
}
