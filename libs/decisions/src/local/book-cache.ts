import { breakerChanged, breakersDue, COMMANDS, rulesChanged, type TenantBook } from '@agentlens/contracts';
import type { ActiveRule, BreakerRef, KnownBook } from '@agentlens/guardrails';
import { BackgroundWork, CommandUnanswered, type EventBus, type Watch } from '@agentlens/messaging';
import { type Clock, type ControlBoard, nextSlice, type Platform } from '@agentlens/platform';
import type { GatewayMetrics } from '../gateway-metrics.ts';

/** The part of the catalog that decides, which a gateway loads only if it decides itself. */
export type Guardrails = Pick<typeof import('@agentlens/guardrails'), 'activate' | 'DecisionBook' | 'locally'>;

const MAX_TENANTS = 500;
const MAX_BYTES = 64 * 1024 * 1024;
const TICK_MS = 1_000;
/**
 * Interval at which the version of a book is compared. A book that was used since the last time is compared every
 * second, because changed settings of a tenant are not announced and must take effect within 5 s.
 */
const COMPARE_MS = 10_000;
/** A book that no question used for this long is not compared any more. */
const IN_USE_MS = 60_000;
/** Maximum time without any answer over the connection, and without a sign that all announcements have arrived. */
const MAX_SILENCE_MS = 3_000;
/** How long a breaker counts as suspect. Longer than a run counts as known. */
const SUSPECT_MS = 60_000;
/**
 * The name of all run trees. The gateway may not know the topmost run that the evaluator counts a run under, so one
 * open breaker of a tree sends all questions of its tenant to the evaluator.
 */
const ANY_TREE = 'tree/';
/** Maximum number of suspect breakers. Beyond it, all breakers are suspect for a while. */
const MAX_SUSPECTS = 20_000;
/** Rules prepared in one turn of the event loop. */
const RULES_PER_SLICE = 50;

interface Held {
  readonly book: KnownBook;
  /** Prepared rules by id and version, which the next book of the tenant shares. */
  readonly rules: ReadonlyMap<string, ActiveRule>;
  readonly version: string;
  readonly limitsVersion: string;
  readonly open: ReadonlySet<string>;
  readonly endsAtMs: number;
  readonly bytes: number;
}

interface CachedBook {
  held: Held | undefined;
  confirmedAtMs: number;
  usedAtMs: number;
  /** Number of announced changes, and how many of them the book contains. */
  changes: number;
  readChanges: number;
  /** Version of the newest change; undefined if changes may have been missed since. */
  announced: string | undefined;
  isFetching: boolean;
  triedAtMs: number;
}

/** A tenant's book as it can be used now. */
export interface UsableBook {
  readonly book: KnownBook | undefined;
  readonly isFresh: boolean;
  /** Changes with the breaker limits. */
  readonly limitsVersion: string;
}

interface BookCacheDependencies {
  readonly bus: Pick<EventBus, 'request' | 'watch'>;
  /** The orders in force, which must be as recent as the book. */
  readonly orders: Pick<ControlBoard, 'silentMs'>;
  readonly clock: Clock;
  readonly guardrails: Guardrails;
  readonly metrics: Pick<GatewayMetrics, 'evictedBook'>;
  readonly logger: Platform['logger'];
  /** How long a book is used after its last confirmation. */
  readonly bookTtlMs: number;
  /** Monotonic clock, in milliseconds. */
  readonly monotonicMs?: () => number;
}

/**
 * Holds what the evaluator decides by, for the tenants that asked most recently. A book is outdated from the moment a
 * change is announced until a book that was read afterwards arrives; questions are sent to the evaluator meanwhile.
 */
export class BookCache {
  readonly #parts: BookCacheDependencies;
  readonly #now: () => number;
  /** Least recently used first. */
  readonly #cached = new Map<string, CachedBook>();
  readonly #suspectUntilMs = new Map<string, number>();
  #allSuspectUntilMs = 0;
  /** When the connection to the bus last carried an answer. */
  #heardAtMs = Number.NEGATIVE_INFINITY;
  #bytes = 0;
  #isWatching = false;
  #watches: readonly Watch[] = [];
  #timer: NodeJS.Timeout | undefined;
  readonly #fetching = new BackgroundWork();

  constructor(parts: BookCacheDependencies) {
    this.#parts = parts;
    this.#now = parts.monotonicMs ?? (() => performance.now());
  }

  /** Until the bus can be watched, no book is fresh. Retries in the background. */
  async start(): Promise<void> {
    await this.#watch();
    this.#timer = setInterval(() => this.tick(), TICK_MS).unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all(this.#watches.map((watch) => watch.close()));
    await this.#fetching.ended();
  }

  /** Returns the book of a tenant, and fetches it if it has to be compared. */
  use(tenantId: string): UsableBook {
    const nowMs = this.#now();
    const cached = this.#take(tenantId);
    cached.usedAtMs = nowMs;
    const { held } = cached;
    if (nowMs - cached.triedAtMs >= TICK_MS && this.#isDue(cached, nowMs)) this.#fetch(tenantId, cached);
    if (held === undefined) return { book: undefined, isFresh: false, limitsVersion: '' };
    return { book: held.book, isFresh: this.#isFresh(cached, held, nowMs), limitsVersion: held.limitsVersion };
  }

  /** Returns true if a breaker is open, or may open with the next question; of a run tree: that of any tree. */
  isSuspect(tenantId: string, ref: BreakerRef): boolean {
    const nowMs = this.#now();
    if (nowMs < this.#allSuspectUntilMs) return true;
    const name = suspectName(ref);
    if (nowMs < (this.#suspectUntilMs.get(`${tenantId}/${name}`) ?? 0)) return true;
    return this.#cached.get(tenantId)?.held?.open.has(name) === true;
  }

  /** Sends questions about these breakers to the evaluator for a while. */
  suspect(tenantId: string, breakers: readonly BreakerRef[]): void {
    const untilMs = this.#now() + SUSPECT_MS;
    for (const ref of breakers) this.#suspectUntilMs.set(`${tenantId}/${suspectName(ref)}`, untilMs);
    if (this.#suspectUntilMs.size <= MAX_SUSPECTS) return;
    this.#forgetSuspects();
    if (this.#suspectUntilMs.size <= MAX_SUSPECTS) return;
    this.#suspectUntilMs.clear();
    this.#allSuspectUntilMs = untilMs;
  }

  /** A change of the tenant's rules, budgets or limits was announced. */
  noticed(tenantId: string, version: string): void {
    const cached = this.#cached.get(tenantId);
    if (cached === undefined) return;
    cached.changes += 1;
    cached.announced = version;
    this.#fetch(tenantId, cached);
  }

  /** Reads the tenant's book again. Returns true if it has the same rules, budgets, breakers and limits as `book`. */
  async isCurrent(tenantId: string, book: KnownBook): Promise<boolean> {
    const cached = this.#cached.get(tenantId);
    if (cached === undefined) return false;
    cached.changes += 1;
    cached.announced = undefined;
    const { changes } = cached;
    this.#fetch(tenantId, cached);
    while (cached.isFetching) await this.#fetching.ended();
    // A book that did not change keeps its index of rules.
    return cached.changes === changes && cached.readChanges === changes && cached.held?.book.rules === book.rules;
  }

  /** Compares the books in use, and keeps checking the connection. */
  tick(): void {
    const nowMs = this.#now();
    this.#forgetSuspects();
    let newest: [string, CachedBook] | undefined;
    if (this.#watches.length === 0) this.#fetching.add(this.#watch());
    for (const [tenantId, cached] of this.#cached) {
      if (nowMs - cached.usedAtMs > Math.max(IN_USE_MS, this.#parts.bookTtlMs)) continue;
      newest = [tenantId, cached];
      if (this.#isDue(cached, nowMs)) this.#fetch(tenantId, cached);
    }
    if (newest !== undefined && nowMs - this.#heardAtMs >= TICK_MS) this.#fetch(...newest);
  }

  /** Waits for books that are being fetched. */
  async settled(): Promise<void> {
    await this.#fetching.ended();
  }

  async #watch(): Promise<void> {
    if (this.#isWatching) return;
    this.#isWatching = true;
    const { bus, logger } = this.#parts;
    const opened = await Promise.allSettled([
      bus.watch(rulesChanged, { from: 'new' }, ({ value }) => this.noticed(value.tenantId, value.version)),
      bus.watch(breakerChanged, { from: 'new' }, ({ value }) => this.suspect(value.tenantId, [value])),
      bus.watch(breakersDue, { from: 'new' }, ({ value }) => this.suspect(value.tenantId, value.breakers)),
    ]);
    const watches = opened.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    const failed = opened.find((one) => one.status === 'rejected');
    if (failed === undefined) {
      // A book that was read before may lack a change.
      for (const cached of this.#cached.values()) {
        cached.changes += 1;
        cached.announced = undefined;
      }
      this.#watches = watches;
      return;
    }
    this.#isWatching = false;
    logger.warn({ err: failed.reason }, 'watching rules failed, the evaluator decides all calls; will retry');
    await Promise.all(watches.map((watch) => watch.close()));
  }

  #isFresh({ changes, readChanges, confirmedAtMs }: CachedBook, { endsAtMs }: Held, nowMs: number): boolean {
    return (
      this.#watches.length > 0 &&
      [...this.#watches, this.#parts.orders].every(({ silentMs }) => silentMs <= MAX_SILENCE_MS) &&
      changes === readChanges &&
      nowMs - confirmedAtMs <= this.#parts.bookTtlMs &&
      nowMs - this.#heardAtMs <= MAX_SILENCE_MS &&
      this.#parts.clock.now() < endsAtMs
    );
  }

  #isDue({ held, changes, readChanges, confirmedAtMs, usedAtMs }: CachedBook, nowMs: number): boolean {
    const everyMs = usedAtMs >= confirmedAtMs ? TICK_MS : COMPARE_MS;
    if (changes !== readChanges || nowMs - confirmedAtMs >= everyMs) return true;
    return held !== undefined && this.#parts.clock.now() >= held.endsAtMs;
  }

  #take(tenantId: string): CachedBook {
    const known = this.#cached.get(tenantId);
    const cached = known ?? {
      ...{ held: undefined, confirmedAtMs: Number.NEGATIVE_INFINITY, usedAtMs: 0 },
      ...{ changes: 1, readChanges: 0, announced: undefined, isFetching: false, triedAtMs: Number.NEGATIVE_INFINITY },
    };
    this.#cached.delete(tenantId);
    this.#cached.set(tenantId, cached);
    this.#evict();
    return cached;
  }

  #evict(): void {
    for (const [tenantId, { held }] of this.#cached) {
      if (this.#cached.size <= MAX_TENANTS && this.#bytes <= MAX_BYTES) return;
      if (this.#cached.size === 1) return;
      this.#cached.delete(tenantId);
      this.#bytes -= held?.bytes ?? 0;
      this.#parts.metrics.evictedBook();
    }
  }

  #fetch(tenantId: string, cached: CachedBook): void {
    if (cached.isFetching) return;
    cached.isFetching = true;
    cached.triedAtMs = this.#now();
    const { changes } = cached;
    const fetched = this.#fetchNow(tenantId, cached)
      .catch((error: unknown) => this.#failed(tenantId, error))
      .finally(() => {
        cached.isFetching = false;
        // A change that was announced meanwhile is read at once; a failed fetch is repeated by the next tick.
        if (cached.changes !== changes && this.#cached.get(tenantId) === cached) this.#fetch(tenantId, cached);
      });
    this.#fetching.add(fetched);
  }

  async #fetchNow(tenantId: string, cached: CachedBook): Promise<void> {
    const { bus, clock } = this.#parts;
    const { changes, held, announced } = cached;
    const [sentAtMs, sentAt] = [this.#now(), clock.now()];
    const answered = await bus.request(COMMANDS.tenantBook, {
      tenantId,
      ...(held === undefined ? {} : { haveVersion: held.version }),
      ...(changes === cached.readChanges ? {} : { reread: true }),
      ...(changes === cached.readChanges || announced === undefined ? {} : { announced }),
    });
    this.#heardAtMs = this.#now();
    if (!answered.ok) throw new Error(answered.problem.error);
    const { value } = answered;
    const clockOffsetMs = value.nowMs - (sentAt + clock.now()) / 2;
    const isHeld = value.kind === 'book' && value.book.version === held?.version;
    if (value.kind === 'unchanged' || isHeld) {
      if (held === undefined) throw new Error('the evaluator did not send a book that is not known here');
      cached.held = { ...held, book: { ...held.book, clockOffsetMs } };
    } else {
      const fresh = value.kind === 'book' ? await this.#heldOf(tenantId, value.book, clockOffsetMs, held) : undefined;
      if (this.#cached.get(tenantId) === cached) this.#bytes += (fresh?.bytes ?? 0) - (held?.bytes ?? 0);
      cached.held = fresh;
    }
    cached.readChanges = changes;
    cached.confirmedAtMs = sentAtMs;
    this.#evict();
  }

  /** Undefined if this gateway does not know a rule's condition or action. */
  async #heldOf(
    tenantId: string,
    book: TenantBook,
    clockOffsetMs: number,
    before: Held | undefined,
  ): Promise<Held | undefined> {
    const { activate, DecisionBook } = this.#parts.guardrails;
    const rules = new Map<string, ActiveRule>();
    let prepared = 0;
    for (const rule of book.rules) {
      const name = `${rule.id}@${rule.version}`;
      const known = before?.rules.get(name);
      if (known !== undefined) {
        rules.set(name, known);
        continue;
      }
      prepared += 1;
      if (prepared % RULES_PER_SLICE === 0) await nextSlice();
      const activated = activate(rule);
      if (!activated.ok) {
        this.#parts.logger.warn(
          { tenantId, ruleId: rule.id, reason: activated.reason },
          'a rule is not known here, the evaluator decides all calls of its tenant',
        );
        return undefined;
      }
      rules.set(name, activated.value);
    }
    return {
      book: {
        version: book.version,
        rules: DecisionBook.EMPTY.withTenant(tenantId, [...rules.values()]),
        budgets: book.budgets,
        clockOffsetMs,
      },
      rules,
      version: book.version,
      limitsVersion: book.limitsVersion,
      open: new Set(book.openBreakers.map((name) => (name.startsWith(ANY_TREE) ? ANY_TREE : name))),
      endsAtMs: book.endsAt === undefined ? Number.POSITIVE_INFINITY : Date.parse(book.endsAt),
      bytes: Buffer.byteLength(JSON.stringify(book)),
    };
  }

  #failed(tenantId: string, error: unknown): void {
    // Without evaluators the connection still works, and books remain valid for their time.
    if (error instanceof CommandUnanswered) {
      if (error.hasNoHandler) this.#heardAtMs = this.#now();
      return;
    }
    this.#parts.logger.warn({ err: error, tenantId }, 'reading the rules of a tenant failed, will retry');
  }

  #forgetSuspects(): void {
    const nowMs = this.#now();
    for (const [name, untilMs] of this.#suspectUntilMs) if (untilMs <= nowMs) this.#suspectUntilMs.delete(name);
  }
}

function suspectName({ scope, scopeId }: BreakerRef): string {
  return scope === 'tree' ? ANY_TREE : `${scope}/${scopeId}`;
}
