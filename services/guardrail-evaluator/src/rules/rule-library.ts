import { type GuardrailRule, type RulesChanged, rulesChanged } from '@agentlens/contracts';
import { type ActiveRule, activate, DecisionBook, isInForce, isSuspended, RuleBook } from '@agentlens/guardrails';
import type { EventBus, Subscription } from '@agentlens/messaging';
import { AnnouncedReads, type Clock, type Platform } from '@agentlens/platform';
import type { RuleMark, RulesRepository } from './rules.repository.ts';

const POLL_MS = 10_000;
/** Overlap of polls, because clocks of evaluators differ and a transaction commits later than the time it writes. */
const OVERLAP_MS = 5 * 60_000;

type Reader = Pick<RulesRepository, 'all' | 'ofTenant' | 'differences' | 'changedSince'>;

/** A stored rule. One that is not active has nothing to evaluate. */
interface Held {
  readonly version: number;
  readonly active: ActiveRule | null;
  /** When its suspension ends; null unless it is suspended. */
  readonly resumesAtMs: number | null;
}

/** The active decision rules of a tenant as `id@version`, and when a suspension ends. */
interface DecisionMarks {
  readonly marks: readonly string[];
  readonly resumesAtMs: number | null;
}

type HeldRules = ReadonlyMap<string, Held>;
const NONE: HeldRules = new Map();

/**
 * Cache of the active rules. Loaded once; an announced change reloads what changed for its tenant; a poll every ten
 * seconds finds missed announcements. Keeps its content while Postgres is unavailable.
 */
export class RuleLibrary {
  readonly #rules: Reader;
  readonly #bus: EventBus;
  readonly #logger: Platform['logger'];
  readonly #clock: Clock;
  readonly #pollMs: number;
  #book = RuleBook.EMPTY;
  #decisions = DecisionBook.EMPTY;
  #loaded = false;
  /** Keyed by tenant and rule. */
  readonly #held = new Map<string, HeldRules>();
  readonly #marks = new WeakMap<HeldRules, DecisionMarks>();
  readonly #announced = new AnnouncedReads();
  readonly #missedMeanwhile = new Set<string>();
  readonly #running = new Map<string, Promise<void>>();
  readonly #queued = new Map<string, Promise<void>>();
  /** By tenant: reads its rules again when a suspension ends. */
  readonly #resuming = new Map<string, NodeJS.Timeout>();
  #newestMs = 0;
  #watch: Subscription | undefined;
  #timer: NodeJS.Timeout | undefined;
  #polling: Promise<void> | undefined;

  constructor(rules: Reader, bus: EventBus, logger: Platform['logger'], clock: Clock, pollMs = POLL_MS) {
    this.#rules = rules;
    this.#bus = bus;
    this.#logger = logger;
    this.#clock = clock;
    this.#pollMs = pollMs;
  }

  get book(): RuleBook {
    return this.#book;
  }

  /** The rules that apply to calls. */
  get decisions(): DecisionBook {
    return this.#decisions;
  }

  /** All rules of a tenant as they are stored, including inactive ones. */
  stored(tenantId: string): Promise<GuardrailRule[]> {
    return this.#rules.ofTenant(tenantId);
  }

  /** Identifies the active decision rules of a tenant. The same object until a rule changes. */
  decisionMarks(tenantId: string): DecisionMarks {
    const held = this.#held.get(tenantId) ?? NONE;
    const known = this.#marks.get(held);
    if (known !== undefined) return known;
    const rules = [...held];
    const resuming = rules.flatMap(([, { resumesAtMs }]) => resumesAtMs ?? []);
    const marks = {
      marks: rules
        .flatMap(([id, { version, active }]) => (active?.cadence === 'call' ? `${id}@${version}` : []))
        .sort(),
      resumesAtMs: resuming.length === 0 ? null : Math.min(...resuming),
    };
    this.#marks.set(held, marks);
    return marks;
  }

  get loaded(): boolean {
    return this.#loaded;
  }

  /** @throws Error if the rules cannot be read; may then be called again */
  async start(): Promise<void> {
    this.#watch ??= await this.#bus.watch(rulesChanged, { from: 'new' }, ({ value }) => this.#noticed(value));
    const byTenant = Map.groupBy(await this.#rules.all(), ({ tenantId }) => tenantId);
    const active = new Map(
      [...byTenant].map(([tenantId, rules]) => [tenantId, this.#hold(tenantId, this.#read(rules))]),
    );
    this.#book = RuleBook.EMPTY.withTenants(active);
    this.#decisions = DecisionBook.EMPTY.withTenants(active);
    this.#loaded = true;
    await Promise.all([...this.#missedMeanwhile].map((tenantId) => this.reload(tenantId)));
    this.#missedMeanwhile.clear();
    this.#timer = setInterval(() => this.#pollQuietly(), this.#pollMs).unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    for (const timer of this.#resuming.values()) clearTimeout(timer);
    await this.#watch?.close();
    await this.#polling;
    await Promise.allSettled(this.#running.values());
  }

  /**
   * Applies a committed change on this instance at once; others follow the announcement. A failed read must not fail
   * the change.
   */
  async applyChange(tenantId: string): Promise<void> {
    if (!this.#loaded) return;
    await this.reload(tenantId).catch((error: unknown) => {
      this.#logger.warn({ err: error, tenantId }, 'reloading a changed rule failed, the next poll will retry');
    });
  }

  /**
   * Reads what changed for one tenant. Requests that arrive while a read is queued share that read.
   * @param announced version of a change; a read that its announcement caused suffices
   */
  reload(tenantId: string, announced?: string): Promise<void> {
    const begun = this.#announced.of(tenantId, announced);
    if (begun !== undefined) return begun;
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

  /** Finds changes whose announcement was lost, and suspensions that end before the next poll. */
  async poll(): Promise<void> {
    for (const [tenantId, rules] of this.#held) this.#resumeInTime(tenantId, rules);
    const marks = await this.#rules.changedSince(new Date(Math.max(0, this.#newestMs - OVERLAP_MS)).toISOString());
    const stale = new Set(marks.filter((mark) => this.#differs(mark)).map(({ tenantId }) => tenantId));
    await Promise.all([...stale].map((tenantId) => this.reload(tenantId)));
    for (const { updatedAt } of marks) this.#newestMs = Math.max(this.#newestMs, Date.parse(updatedAt));
  }

  #noticed({ tenantId, version }: RulesChanged): void {
    if (!this.#loaded) {
      this.#missedMeanwhile.add(tenantId);
      return;
    }
    const reading = this.reload(tenantId);
    this.#announced.began(tenantId, version, reading);
    this.#logIfFailed(tenantId, reading);
  }

  #logIfFailed(tenantId: string, reading: Promise<void>): void {
    reading.catch((error: unknown) =>
      this.#logger.warn({ err: error, tenantId }, 'reloading rules failed, the next poll will retry'),
    );
  }

  #pollQuietly(): void {
    this.#polling ??= this.poll()
      .catch((error: unknown) => this.#logger.warn({ err: error }, 'polling rules failed, keeping those in memory'))
      .finally(() => {
        this.#polling = undefined;
      });
  }

  /** Reads a tenant's rules again at the moment at which a suspension ends, unless a later poll comes before that. */
  #resumeInTime(tenantId: string, rules: HeldRules): void {
    const ends = [...rules.values()].flatMap(({ resumesAtMs }) => resumesAtMs ?? []);
    const inMs = Math.min(...ends) - this.#clock.now();
    if (inMs > this.#pollMs) return;
    clearTimeout(this.#resuming.get(tenantId));
    const resume = () => {
      this.#resuming.delete(tenantId);
      this.#logIfFailed(tenantId, this.reload(tenantId));
    };
    this.#resuming.set(tenantId, setTimeout(resume, Math.max(0, inMs) + 1).unref());
  }

  #differs({ tenantId, ruleId, version, deleted }: RuleMark): boolean {
    const held = this.#held.get(tenantId)?.get(ruleId);
    return deleted ? held !== undefined : held === undefined || held.version < version;
  }

  async #load(tenantId: string): Promise<void> {
    const all = this.#held.get(tenantId) ?? NONE;
    // A rule whose suspension ended is read again, although its version is the same.
    const nowMs = this.#clock.now();
    const held = new Map([...all].filter(([, { resumesAtMs }]) => resumesAtMs === null || resumesAtMs > nowMs));
    const { ids, changed } = await this.#rules.differences(tenantId, held);
    if (changed.length === 0 && ids.length === held.size) return;
    const fresh = this.#read(changed);
    const rules = new Map<string, Held>();
    for (const id of ids) {
      const rule = fresh.get(id) ?? held.get(id);
      if (rule !== undefined) rules.set(id, rule);
    }
    const active = this.#hold(tenantId, rules);
    this.#book = this.#book.withTenant(tenantId, active);
    this.#decisions = this.#decisions.withTenant(tenantId, active);
  }

  #read(rules: readonly GuardrailRule[]): HeldRules {
    for (const { updatedAt } of rules) this.#newestMs = Math.max(this.#newestMs, Date.parse(updatedAt));
    const nowMs = this.#clock.now();
    return new Map(
      rules.map((rule) => {
        const active = isInForce(rule, nowMs) ? this.#activate(rule) : null;
        const resumesAtMs = isSuspended(rule, nowMs) ? Date.parse(rule.suspended?.until ?? '') : null;
        return [rule.id, { version: rule.version, active, resumesAtMs }];
      }),
    );
  }

  /** Stores a tenant's rules and returns those that are evaluated. */
  #hold(tenantId: string, rules: HeldRules): ActiveRule[] {
    this.#held.set(tenantId, rules);
    this.#resumeInTime(tenantId, rules);
    return Array.from(rules.values(), ({ active }) => active).filter((active) => active !== null);
  }

  #activate(rule: GuardrailRule): ActiveRule | null {
    const active = activate(rule);
    if (active.ok) return active.value;
    this.#logger.error({ tenantId: rule.tenantId, ruleId: rule.id, reason: active.reason }, 'rule cannot be evaluated');
    return null;
  }
}
