import type { Database } from '@agentlens/database';
import type { AgentFacts } from '@agentlens/guardrails';
import type { Clock } from '@agentlens/platform';

/** How old what is known of agents may be. */
const FRESH_MS = 10_000;

interface Known {
  readonly agents: ReadonlyMap<string, AgentFacts>;
  readonly readAtMs: number;
}

/**
 * Slugs and tags of the agents that registered, for rules that go by them. Read per tenant when first asked for and
 * again beside later questions, which are answered with what is known; only the first waits for Postgres.
 */
export class AgentDirectory {
  readonly #db: Database['db'];
  readonly #clock: Clock;
  readonly #known = new Map<string, Known>();
  readonly #reading = new Map<string, Promise<Known>>();

  constructor({ db }: Pick<Database, 'db'>, clock: Clock) {
    this.#db = db;
    this.#clock = clock;
  }

  /** Null: it never registered. */
  async agent(tenantId: string, agentId: string): Promise<AgentFacts | null> {
    const known = this.#known.get(tenantId);
    const stale = known === undefined || this.#clock.now() - known.readAtMs >= FRESH_MS;
    const reading = stale ? this.#read(tenantId) : undefined;
    // What is known goes on being used while Postgres is away.
    if (known !== undefined) reading?.catch(() => undefined);
    return (known ?? (await reading))?.agents.get(agentId) ?? null;
  }

  #read(tenantId: string): Promise<Known> {
    const under = this.#reading.get(tenantId);
    if (under !== undefined) return under;
    const reading = this.#readNow(tenantId).finally(() => this.#reading.delete(tenantId));
    this.#reading.set(tenantId, reading);
    return reading;
  }

  async #readNow(tenantId: string): Promise<Known> {
    const rows = await this.#db
      .selectFrom('agents')
      .select(['agent_id', 'slug', 'tags'])
      .where('tenant_id', '=', tenantId)
      .where('slug', 'is not', null)
      .execute();
    const agents = new Map(
      rows.map(({ agent_id, slug, tags }) => [agent_id, { ...(slug === null ? {} : { slug }), tags }] as const),
    );
    const known = { agents, readAtMs: this.#clock.now() };
    this.#known.set(tenantId, known);
    return known;
  }
}
