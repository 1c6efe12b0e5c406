import { type TcpProxy, type TestServer, tcpProxy } from '@agentlens/testing';
import pg from 'pg';
import { request } from 'undici';
import { heldRules } from '../bench/progress.ts';
import { type HarnessRule, type ServerName, type Stack, type StackService, startStack } from '../harness/stack.ts';
import { until } from '../harness/time.ts';
import { type Load, type LoadPlan, startLoad } from './load.ts';
import { counterRule, limitRule, markerRule } from './record.ts';
import { Streams } from './streams.ts';
import { TriggerWatch } from './trigger-watch.ts';
import { WebhookReceiver } from './webhook-receiver.ts';

/** A TCP proxy between each process and each of its servers, so that one link can fail alone. */
export class Proxies {
  private readonly links = new Map<string, TcpProxy>();

  async between(process: string, server: ServerName, url: string): Promise<string> {
    const proxy = await tcpProxy(url);
    this.links.set(`${process} ${server}`, proxy);
    return proxy.url;
  }

  /** The links of one server, of all processes or of one. */
  of(server: ServerName, process?: string): readonly TcpProxy[] {
    return [...this.links]
      .filter(([name]) => name === `${process} ${server}` || (process === undefined && name.endsWith(` ${server}`)))
      .map(([, proxy]) => proxy);
  }

  /** Silently stops forwarding on open connections. New connections work. */
  halfOpen(server: ServerName, process: string): void {
    for (const link of this.of(server, process)) {
      link.mode('half-open');
      link.mode('pass');
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.links.values()].map((link) => link.close()));
  }
}

export interface SiteOptions {
  /** Checkout whose built services to start. Default: this one. */
  readonly root?: string;
  readonly replicas?: Partial<Record<StackService, number>>;
  readonly nodeOptions?: readonly string[];
  readonly serviceEnv?: Partial<Record<StackService, Readonly<Record<string, string>>>>;
  readonly nats?: () => Promise<TestServer>;
  /**
   * Servers without proxies: one that has its own, or tests without faults, where proxies would only distort the
   * measurement.
   */
  readonly direct?: readonly ServerName[];
}

export const DEFAULT_TENANT = 'default';
const RULES_DEADLINE_MS = 60_000;
const CHANGE_DEADLINE_MS = 30_000;

/** A running platform for faults: proxies on every link, three watched rules, and a receiver of their webhooks. */
export class Site {
  readonly stack: Stack;
  readonly proxies: Proxies;
  readonly pool: pg.Pool;
  readonly receiver: WebhookReceiver;
  readonly streams: Streams;
  readonly triggers: TriggerWatch;
  readonly root: string;
  /** The rule whose readings are the evaluator's counts. */
  counterRuleId = '';

  private constructor(
    root: string,
    stack: Stack,
    proxies: Proxies,
    receiver: WebhookReceiver,
    streams: Streams,
    triggers: TriggerWatch,
  ) {
    this.root = root;
    this.stack = stack;
    this.proxies = proxies;
    this.receiver = receiver;
    this.streams = streams;
    this.triggers = triggers;
    this.pool = new pg.Pool({ connectionString: stack.postgresUrl, max: 6 });
    // Its server is killed while the pool is open.
    this.pool.on('error', () => undefined);
  }

  static async open(ownRoot: string, options: SiteOptions = {}): Promise<Site> {
    const root = options.root ?? ownRoot;
    const proxies = new Proxies();
    const stack = await startStack({
      shape: 'distributed',
      root,
      betweenEach: (process, server, url) =>
        options.direct?.includes(server) ? Promise.resolve(url) : proxies.between(process, server, url),
      ...(options.replicas === undefined ? {} : { replicas: options.replicas }),
      ...(options.nodeOptions === undefined ? {} : { nodeOptions: options.nodeOptions }),
      ...(options.serviceEnv === undefined ? {} : { serviceEnv: options.serviceEnv }),
      ...(options.nats === undefined ? {} : { nats: options.nats }),
    });
    const { natsUrl } = stack;
    if (natsUrl === undefined) throw new Error('the distributed platform needs a NATS server');
    const [receiver, streams, triggers] = await Promise.all([
      WebhookReceiver.open(),
      Streams.open(natsUrl),
      TriggerWatch.open(natsUrl),
    ]);
    const site = new Site(root, stack, proxies, receiver, streams, triggers);
    try {
      await site.addRule(markerRule(receiver.url('/marker')));
      await site.addRule(limitRule(receiver.url('/limit')));
      site.counterRuleId = await site.addRule(counterRule(receiver.url('/counter')));
      await site.rulesHeld(3);
    } catch (error) {
      await site.close();
      throw error;
    }
    return site;
  }

  server(name: 'postgres' | 'nats' | 'redis'): TestServer {
    const server = this.stack.servers[name];
    if (server === undefined) throw new Error(`unknown server ${name}`);
    return server;
  }

  load(seed: number, plan: LoadPlan, url = this.stack.ingestUrl): Load {
    return startLoad(url, this.stack.key, seed, plan);
  }

  /**
   * Also works while the platform recovers from the last fault: after a 503 it checks whether the rule was created,
   * then retries.
   */
  async addRule(draft: HarnessRule): Promise<string> {
    return until(`the rule "${draft.name}" to be accepted`, () => this.#ruleOf(draft), RULES_DEADLINE_MS);
  }

  async #ruleOf(draft: HarnessRule): Promise<string | undefined> {
    const answer = await this.post(this.stack.queryUrl, '/api/guardrails', draft);
    if (answer.status === 201) return (JSON.parse(answer.text) as { readonly id: string }).id;
    if (answer.status !== 503) {
      throw new Error(`the rule "${draft.name}" was rejected: ${answer.status} ${answer.text}`);
    }
    const { rows } = await this.pool.query<{ rule_id: string }>(
      'select rule_id from guardrail_rules where tenant_id = $1 and name = $2 and deleted_at is null',
      [DEFAULT_TENANT, draft.name],
    );
    return rows[0]?.rule_id;
  }

  async removeRule(id: string): Promise<void> {
    const headers = { authorization: `Bearer ${this.stack.key}` };
    const gone = async () => {
      const answer = await request(`${this.stack.queryUrl}/api/guardrails/${id}`, { method: 'DELETE', headers });
      await answer.body.dump();
      return answer.statusCode < 300 || answer.statusCode === 404 ? true : undefined;
    };
    await until(`the rule ${id} to be removed`, gone, RULES_DEADLINE_MS);
  }

  /** Waits until every evaluator has loaded this many rules. */
  async rulesHeld(count: number): Promise<void> {
    await until(
      `the evaluator to load ${count} rules`,
      async () => ((await heldRules(this.stack)) === count ? true : undefined),
      RULES_DEADLINE_MS,
    );
  }

  /** Kills an agent, or lets it run again. */
  async order(agentId: string, state: 'killed' | 'running'): Promise<void> {
    await this.change('POST', '/api/control', { scope: 'agent', scopeId: agentId, state, reason: 'fault', waitMs: 0 });
  }

  /** Retries while the platform cannot store a change. @throws if it is rejected otherwise */
  async change(method: 'POST' | 'PATCH', path: string, body: object): Promise<void> {
    const once = async () => {
      const answer = await fetch(`${this.stack.queryUrl}${path}`, {
        method,
        headers: { authorization: `Bearer ${this.stack.key}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(10_000),
      });
      const text = await answer.text();
      if (answer.ok) return true;
      if (answer.status !== 503) throw new Error(`${method} ${path} returned ${answer.status}: ${text}`);
      return undefined;
    };
    await until(`${method} ${path} to be accepted`, once, CHANGE_DEADLINE_MS);
  }

  async post(
    base: string,
    path: string,
    body: unknown,
    key = this.stack.key,
  ): Promise<{ readonly status: number; readonly text: string }> {
    const answer = await request(`${base}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: typeof body === 'string' ? body : JSON.stringify(body),
      headersTimeout: 10_000,
      bodyTimeout: 10_000,
    });
    return { status: answer.statusCode, text: await answer.body.text() };
  }

  get unexpectedExits(): number {
    return this.stack.services.reduce((sum, { unexpectedExits }) => sum + unexpectedExits, 0);
  }

  /** Stops everything, even if part of it has failed. @throws the first failure */
  async close(): Promise<void> {
    const ours = [this.triggers.close(), this.streams.close(), this.receiver.close(), this.pool.end()];
    const results = await Promise.allSettled(ours);
    results.push(...(await Promise.allSettled([this.stack.stop()])));
    results.push(...(await Promise.allSettled([this.proxies.close()])));
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  }
}
