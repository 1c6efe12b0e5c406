import { type GuardrailRule, rulesChanged } from '@agentlens/contracts';
import { type ActiveRule, activate, DecisionBook, isInForce, RuleBook } from '@agentlens/guardrails';
import type { EventBus, Subscription } from '@agentlens/messaging';
import type { Platform } from '@agentlens/platform';
import type { RuleMark, RulesRepository } from './rules.repository.ts';

const POLL_MS = 10_000;
/** Clocks of evaluators differ, and a transaction commits after the time it writes. */
const OVERLAP_MS = 5 * 60_000;

type Reader = Pick<RulesRepository, 'all' | 'ofTenant' | 'changedSince'>;

/**
 * The rules in force on this instance. Loaded once, reloaded per tenant when a change is announced, and compared with
 * the table every ten seconds for announcements that were missed. Keeps what it has while Postgres is away.
 */
export class RuleLibrary {
  readonly #rules: Reader;
  readonly #bus: EventBus;
  readonly #logger: Platform['logger'];
  readonly #pollMs: number;
  #book = RuleBook.EMPTY;
  #decisions = DecisionBook.EMPTY;
  #loaded = false;
  /** Versions held, by tenant and rule; disabled rules too. */
  readonly #held = new Map<string, ReadonlyMap<string, number>>();
  readonly #missedMeanwhile = new Set<string>();
  readonly #running = new Map<string, Promise<void>>();
  readonly #queued = new Map<string, Promise<void>>();
  #newestMs = 0;
  #watch: Subscription | undefined;
  #timer: NodeJS.Timeout | undefined;
  #polling: Promise<void> | undefined;

  constructor(rules: Reader, bus: EventBus, logger: Platform['logger'], pollMs = POLL_MS) {
    this.#rules = rules;
    this.#bus = bus;
    this.#logger = logger;
    this.#pollMs = pollMs;
  }

  get book(): RuleBook {
    return this.#book;
  }

  /** The rules that are asked about calls. */
  get decisions(): DecisionBook {
    return this.#decisions;
  }

  /** All rules of a tenant as they are stored now, those that are not in force too. */
  stored(tenantId: string): Promise<GuardrailRule[]> {
    return this.#rules.ofTenant(tenantId);
  }

  get loaded(): boolean {
    return this.#loaded;
  }

  /** @throws where the rules cannot be read; may be called again. */
  async start(): Promise<void> {
    this.#watch ??= await this.#bus.watch(rulesChanged, { from: 'new' }, ({ value }) => this.#noticed(value.tenantId));
    const byTenant = Map.groupBy(await this.#rules.all(), ({ tenantId }) => tenantId);
    const active = new Map([...byTenant].map(([tenantId, rules]) => [tenantId, this.#hold(tenantId, rules)]));
    this.#book = RuleBook.EMPTY.withTenants(active);
    this.#decisions = DecisionBook.EMPTY.withTenants(active);
    this.#loaded = true;
    await Promise.all([...this.#missedMeanwhile].map((tenantId) => this.reload(tenantId)));
    this.#missedMeanwhile.clear();
    this.#timer = setInterval(() => this.#pollQuietly(), this.#pollMs).unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#watch?.close();
    await this.#polling;
    await Promise.allSettled(this.#running.values());
  }

  /** Reads the rules of one tenant again; what is asked while a read waits its turn is answered by that one. */
  reload(tenantId: string): Promise<void> {
    const waiting = this.#queued.get(tenantId);
    if (waiting !== undefined) return waiting;
    const before = this.#running.get(tenantId) ?? Promise.resolve();
    const load = before
      .catch(() => undefined)
      .then(() => {
        this.#queued.delete(tenantId);
        return this.#load(tenantId);
      })
      .finally(() => {
        if (this.#running.get(tenantId) === load) this.#running.delete(tenantId);
      });
    this.#queued.set(tenantId, load);
    this.#running.set(tenantId, load);
    return load;
  }

  /** Finds changes whose announcement did not arrive. */
  async poll(): Promise<void> {
    const marks = await this.#rules.changedSince(new Date(Math.max(0, this.#newestMs - OVERLAP_MS)).toISOString());
    const stale = new Set(marks.filter((mark) => this.#differs(mark)).map(({ tenantId }) => tenantId));
    await Promise.all([...stale].map((tenantId) => this.reload(tenantId)));
    for (const { updatedAt } of marks) this.#newestMs = Math.max(this.#newestMs, Date.parse(updatedAt));
  }

  #noticed(tenantId: string): void {
    if (!this.#loaded) {
      this.#missedMeanwhile.add(tenantId);
      return;
    }
    this.reload(tenantId).catch((error: unknown) =>
      this.#logger.warn({ err: error, tenantId }, 'rules could not be read again, the next poll will'),
    );
  }

  #pollQuietly(): void {
    this.#polling ??= this.poll()
      .catch((error: unknown) =>
        this.#logger.warn({ err: error }, 'rules could not be polled, keeping those in memory'),
      )
      .finally(() => {
        this.#polling = undefined;
      });
  }

  #differs({ tenantId, ruleId, version, deleted }: RuleMark): boolean {
    const held = this.#held.get(tenantId)?.get(ruleId);
    return deleted ? held !== undefined : held === undefined || held < version;
  }

  async #load(tenantId: string): Promise<void> {
    const rules = await this.#rules.ofTenant(tenantId);
    const active = this.#hold(tenantId, rules);
    this.#book = this.#book.withTenant(tenantId, active);
    this.#decisions = this.#decisions.withTenant(tenantId, active);
  }

  /** Remembers the versions of a tenant's rules and answers those that are in force. */
  #hold(tenantId: string, rules: readonly GuardrailRule[]): ActiveRule[] {
    this.#held.set(tenantId, new Map(rules.map(({ id, version }) => [id, version])));
    for (const { updatedAt } of rules) this.#newestMs = Math.max(this.#newestMs, Date.parse(updatedAt));
    return rules.filter(isInForce).flatMap((rule) => this.#activate(rule));
  }

  #activate(rule: GuardrailRule): ActiveRule[] {
    const active = activate(rule);
    if (active.ok) return [active.value];
    this.#logger.error({ tenantId: rule.tenantId, ruleId: rule.id, reason: active.reason }, 'rule cannot be evaluated');
    return [];
  }
}
