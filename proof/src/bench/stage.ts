import { STREAMS } from '@agentlens/contracts';
import { connectRedisState, minuteOf, type StateStores } from '@agentlens/state';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import pg from 'pg';
import { request } from 'undici';
import { type HarnessRule, type Stack, type StackShape, startStack } from '../harness/stack.ts';
import { until } from '../harness/time.ts';
import { heldRules } from './progress.ts';
import {
  announceRules,
  copyRule,
  copyRulesTo,
  retireRules,
  rulesInForce,
  type SeededTenant,
  seedTenants,
} from './seeds.ts';

/** The sequence of the newest message in the stream of events. */
export async function newestEvent(natsUrl: string): Promise<number> {
  const connection = await connect({ servers: natsUrl.split(',') });
  try {
    const manager = await jetstreamManager(connection);
    return (await manager.streams.info(STREAMS.AGENT_EVENTS.name)).state.last_seq;
  } finally {
    await connection.close();
  }
}

export const DEFAULT_TENANT = 'default';
const RULES_DEADLINE_MS = 60_000;
const MINUTE_MS = 60_000;

/** Those of them that a build has: another commit may have fewer. */
const FORGOTTEN_TABLES = [
  ...['events', 'runs', 'agents', 'agent_daily', 'activity', 'guardrail_states', 'guardrail_triggers'],
  ...['trigger_cooldowns', 'deliveries', 'delivery_attempts', 'audit_minutes'],
];

interface StageOptions {
  readonly shape: StackShape;
  readonly root: string;
  readonly nodeOptions?: readonly string[];
}

/** A running platform that scenarios configure and load, one after the other. */
export class Stage {
  readonly stack: Stack;
  readonly pool: pg.Pool;
  private readonly root: string;
  private readonly openedAtMs = Date.now();
  private readonly state: StateStores | undefined;
  private tenants: readonly SeededTenant[] = [];
  private closing: Promise<void> | undefined;

  private constructor(stack: Stack, root: string, state: StateStores | undefined) {
    this.stack = stack;
    this.root = root;
    this.state = state;
    this.pool = new pg.Pool({ connectionString: stack.postgresUrl, max: 4 });
    // Its server is stopped before the pool is closed.
    this.pool.on('error', () => undefined);
  }

  static async open({ shape, root, nodeOptions = [] }: StageOptions): Promise<Stage> {
    const stack = await startStack({ shape, root, nodeOptions });
    const { redisUrl } = stack;
    const state = redisUrl === undefined ? undefined : await connectRedisState({ url: redisUrl });
    const stage = new Stage(stack, root, state);
    try {
      await stage.refuseIfNotDurable();
    } catch (error) {
      await stage.close();
      throw error;
    }
    return stage;
  }

  /** Safe to call several times. */
  close(): Promise<void> {
    this.closing ??= this.pool
      .end()
      .then(() => this.state?.close())
      .then(() => this.stack.stop());
    return this.closing;
  }

  /** Events that the evaluators report as evaluated, each once. Undefined if a single process keeps its own count. */
  async evaluatedEvents(): Promise<number | undefined> {
    if (this.state === undefined) return undefined;
    let events = 0;
    for (let minuteMs = minuteOf(this.openedAtMs); minuteMs <= Date.now(); minuteMs += MINUTE_MS) {
      for (const ofTenant of (await this.state.evaluationTally.read(minuteMs)).values()) events += ofTenant;
    }
    return events;
  }

  /** Makes these the only active rules of tenant `default`, and waits until the evaluator has loaded them. */
  async setRules(drafts: readonly HarnessRule[]): Promise<readonly string[]> {
    const touched = await retireRules(this.pool);
    const ids: string[] = [];
    for (const draft of drafts) ids.push(await this.createRule(draft));
    await this.announced([...touched, DEFAULT_TENANT]);
    return ids;
  }

  /** Adds copies of a rule for agents that send nothing. */
  async addAbsent(ruleId: string, copies: number): Promise<void> {
    await copyRule(this.pool, ruleId, copies);
    await this.announced([DEFAULT_TENANT]);
  }

  /** Returns the keys of tenants with the rules of `default`. */
  async tenantsWithRules(count: number): Promise<readonly string[]> {
    if (this.tenants.length < count) this.tenants = await seedTenants(this.pool, this.root, count);
    const chosen = this.tenants.slice(0, count);
    const ids = chosen.map(({ id }) => id);
    await copyRulesTo(this.pool, DEFAULT_TENANT, ids);
    await this.announced(ids);
    return chosen.map(({ key }) => key);
  }

  /**
   * Deletes stored events, so that one measurement does not slow down the next. Call only while nothing is in flight.
   * Resets the auditor too; otherwise it would read every message again to look for missing events.
   */
  async forgetEvents(): Promise<void> {
    const { natsUrl } = this.stack;
    const read = natsUrl === undefined ? 0 : await newestEvent(natsUrl);
    const { rows } = await this.pool.query<{ name: string }>(
      'select tablename as name from pg_tables where schemaname = current_schema and tablename = any($1)',
      [FORGOTTEN_TABLES],
    );
    await this.pool.query(
      `update audit_position set sequence = ${read}; truncate ${rows.map(({ name }) => name).join(', ')}`,
    );
    await this.pool.query('checkpoint');
  }

  /** Sends an authorized GET to the query service. Returns the status and the whole body. */
  async get(path: string): Promise<{ readonly status: number; readonly text: string }> {
    const answer = await request(`${this.stack.queryUrl}${path}`, {
      headers: { authorization: `Bearer ${this.stack.key}` },
    });
    return { status: answer.statusCode, text: await answer.body.text() };
  }

  /** Sends an authorized POST to the query service. @throws if it answers with another status than `expected` */
  async post<T>(path: string, body: object, expected: number): Promise<T> {
    return JSON.parse(await this.write('POST', path, body, expected)) as T;
  }

  /** Sends an authorized PUT to the query service. @throws if it answers with another status than 200 */
  async put(path: string, body: object): Promise<void> {
    await this.write('PUT', path, body, 200);
  }

  /** Sends an authorized DELETE to the query service. @throws if it answers with another status than 200 */
  async delete(path: string): Promise<void> {
    await this.write('DELETE', path, undefined, 200);
  }

  /** Deletes all rows of these tables. Call only while nothing is in flight. */
  async forgetRows(tables: readonly string[]): Promise<void> {
    await this.pool.query(`truncate ${tables.join(', ')}`);
  }

  private async write(method: 'POST' | 'PUT' | 'DELETE', path: string, body: object | undefined, expected: number) {
    const answer = await request(`${this.stack.queryUrl}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.stack.key}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const text = await answer.body.text();
    if (answer.statusCode !== expected) throw new Error(`${method} ${path} was rejected: ${answer.statusCode} ${text}`);
    return text;
  }

  /** Rejects a server without durable writes, because its figures would not be comparable. */
  private async refuseIfNotDurable(): Promise<void> {
    for (const setting of ['fsync', 'synchronous_commit', 'full_page_writes']) {
      const { rows } = await this.pool.query<Record<string, string>>(`show ${setting}`);
      const value = rows[0]?.[setting];
      if (value !== 'on') throw new Error(`Postgres runs with ${setting}=${value}; the bench needs it on`);
    }
  }

  private async createRule(draft: HarnessRule): Promise<string> {
    return (await this.post<{ readonly id: string }>('/api/guardrails', draft, 201)).id;
  }

  private async announced(tenants: readonly string[]): Promise<void> {
    await announceRules(this.pool, [...new Set(tenants)]);
    const expected = await rulesInForce(this.pool);
    await until(
      `the evaluator to load ${expected} rules`,
      async () => ((await heldRules(this.stack)) === expected ? true : undefined),
      RULES_DEADLINE_MS,
    );
  }
}
