import { observeQueue } from '@agentlens/messaging';
import { Restraint } from './restraint.ts';

/** Assumed queue speed before the first reading, in events per second. */
const DEFAULT_EVENTS_PER_SECOND = 10_000;
/** Minimum duration of a reading, because turns come in bursts. */
const MIN_READING_MS = 200;
/** Smoothing weight of the newest reading. */
const WEIGHT = 0.5;

/**
 * Measures how fast the queues move. It learns only while events wait: without a queue, the rate shows what arrives,
 * not what is possible.
 */
export class LineSpeed {
  #perSecond = DEFAULT_EVENTS_PER_SECOND;
  #begun = 0;
  #sinceMs: number | null = null;

  /** Events per second, over all tenants, that start while others wait. */
  get perSecond(): number {
    return this.#perSecond;
  }

  /** Notes that `events` had their turn while `waiting` still wait. The clock is monotonic. */
  begun(events: number, waiting: number, nowMs: number): void {
    if (this.#sinceMs !== null) this.#count(events, nowMs - this.#sinceMs);
    if (waiting === 0) this.#sinceMs = null;
    else if (this.#sinceMs === null) this.#restart(nowMs);
  }

  #count(events: number, passedMs: number): void {
    this.#begun += events;
    if (passedMs < MIN_READING_MS) return;
    this.#perSecond += ((this.#begun * 1_000) / passedMs - this.#perSecond) * WEIGHT;
    this.#restart((this.#sinceMs ?? 0) + passedMs);
  }

  #restart(nowMs: number): void {
    this.#begun = 0;
    this.#sinceMs = nowMs;
  }
}

/** Maximum number of events in progress. */
const MAX_IN_PROGRESS = 1_200;
/** Limit for one tenant while it is alone, which leaves room for others to start. */
const MAX_ALONE = 800;
/** Limit for one tenant while others are active. A larger request gets its own turn. */
const MAX_BESIDE_OTHERS = 200;
/** A tenant counts as active for this long after each request. */
const ACTIVE_MS = 2_000;
/** Maximum duration of a turn. Work that takes longer is waiting for a store and does not block others. */
const MAX_TURN_MS = 50;
/** A tenant is full if its backlog would take longer than this many seconds; its triggers would be late. */
const MAX_BACKLOG_S = 0.3;
/** Maximum number of waiting events. Their parsed bodies take about 40 MB. */
const MAX_WAITING_EVENTS = 20_000;
/**
 * A throttled tenant is full if its backlog would take longer than this many seconds, because the answers would be too
 * late to be useful.
 */
const MAX_THROTTLED_BACKLOG_S = 2;

interface FairTurnsDependencies {
  readonly maxTurnMs?: number;
  /** Monotonic clock, in milliseconds. */
  readonly nowMs?: () => number;
  readonly restraint?: Pick<Restraint, 'look' | 'begun' | 'isActive' | 'perSecondOf' | 'restsUntil'>;
}

interface Line {
  readonly tenantId: string;
  readonly waiting: { readonly events: number; readonly begin: (end: () => void) => void }[];
  /** Events in progress. */
  inHand: number;
  /** Events waiting. */
  behind: number;
}

/**
 * Schedules requests fairly between tenants. All events in progress share one thread, and each step of a request waits
 * for one step of every other. Therefore each tenant may have only a few events in progress; the rest wait in its own
 * queue. The tenant with the fewest events in progress goes next, so a flood delays only itself. A tenant that is alone
 * may have more events in progress.
 */
export class FairTurns {
  /** Queues of tenants with events in progress or waiting, least recently served first. */
  readonly #lines = new Map<string, Line>();
  #inHand = 0;
  #waiting = 0;
  #scheduled = false;
  /** A tenant waits only because of the total limit, so new requests have to queue too. */
  #crowded = false;
  /** The tenant of the last request. */
  #latest: string | undefined;
  /** Until this time, more than one tenant counts as active. */
  #mixedUntilMs = 0;

  readonly #speed = new LineSpeed();
  readonly #restraint: NonNullable<FairTurnsDependencies['restraint']>;
  readonly #maxTurnMs: number;
  readonly #nowMs: () => number;
  #rest: NodeJS.Timeout | undefined;

  constructor({ maxTurnMs = MAX_TURN_MS, nowMs, restraint }: FairTurnsDependencies = {}) {
    this.#maxTurnMs = maxTurnMs;
    this.#nowMs = nowMs ?? (() => performance.now());
    this.#restraint = restraint ?? new Restraint();
    observeQueue({ name: 'waiting_events', capacity: MAX_WAITING_EVENTS, size: () => this.#waiting });
  }

  /**
   * Begins a turn when it is this tenant's, at once if nothing is in the way. Returns an idempotent callback that ends
   * it; the turn also ends by itself after `maxTurnMs`.
   */
  begin(tenantId: string, weight: number): (() => void) | Promise<() => void> {
    const events = Math.max(1, weight);
    this.#notice(tenantId);
    const nowMs = this.#nowMs();
    this.#restraint.look(nowMs, nowMs < this.#mixedUntilMs);
    const line = this.#lineOf(tenantId);
    if (this.#crowded || line.waiting.length > 0 || !this.#isFree(line, nowMs)) return this.#wait(line, events);
    return this.#start(line, events);
  }

  #start(line: Line, events: number): () => void {
    line.inHand += events;
    this.#inHand += events;
    this.#restraint.begun(line.tenantId, events, this.#nowMs());
    let isOver = false;
    const end = () => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      this.#inHand -= events;
      line.inHand -= events;
      if (line.inHand === 0 && line.waiting.length === 0) this.#lines.delete(line.tenantId);
      this.#schedule();
    };
    const timer = setTimeout(end, this.#maxTurnMs);
    return end;
  }

  /** Returns true if the tenant's backlog is so large that it should send later. */
  isFull(tenantId: string): boolean {
    const behind = this.#lines.get(tenantId)?.behind ?? 0;
    if (behind > this.#restraint.perSecondOf(tenantId) * MAX_THROTTLED_BACKLOG_S) return true;
    // Queues take turns, so each moves at its part of the speed.
    const inAll = behind * this.#lines.size;
    return (
      inAll > this.#speed.perSecond * MAX_BACKLOG_S || (this.#waiting >= MAX_WAITING_EVENTS && inAll >= this.#waiting)
    );
  }

  #notice(tenantId: string): void {
    if (this.#latest === tenantId) return;
    if (this.#latest !== undefined) this.#mixedUntilMs = this.#nowMs() + ACTIVE_MS;
    this.#latest = tenantId;
  }

  #lineOf(tenantId: string): Line {
    const known = this.#lines.get(tenantId);
    if (known !== undefined) return known;
    const line: Line = { tenantId, waiting: [], inHand: 0, behind: 0 };
    this.#lines.set(tenantId, line);
    return line;
  }

  #isFree(line: Line, nowMs: number): boolean {
    return this.#inHand < MAX_IN_PROGRESS && this.#hasShareLeft(line, nowMs);
  }

  #hasShareLeft({ inHand, tenantId }: Line, nowMs: number): boolean {
    if (this.#restraint.restsUntil(tenantId) > nowMs) return false;
    return inHand < (nowMs < this.#mixedUntilMs ? MAX_BESIDE_OTHERS : MAX_ALONE);
  }

  #wait(line: Line, events: number): Promise<() => void> {
    const { promise, resolve } = Promise.withResolvers<() => void>();
    this.#crowded ||= this.#hasShareLeft(line, this.#nowMs()) && line.waiting.length === 0;
    line.waiting.push({ events, begin: resolve });
    line.behind += events;
    this.#waiting += events;
    this.#schedule();
    return promise;
  }

  /** Starts one request per turn of the event loop, so that requests of other tenants can arrive in between. */
  #schedule(): void {
    if (this.#scheduled || this.#waiting === 0) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#next();
    });
  }

  #next(): void {
    const nowMs = this.#nowMs();
    const next = this.#leastInHand(nowMs);
    const turn = next?.waiting.shift();
    if (next === undefined || turn === undefined) {
      if (this.#inHand < MAX_IN_PROGRESS) this.#crowded = false;
      this.#scheduleAfterRest(nowMs);
      return;
    }
    // Moves the tenant behind the others with as few events in progress.
    this.#lines.delete(next.tenantId);
    this.#lines.set(next.tenantId, next);
    next.behind -= turn.events;
    this.#waiting -= turn.events;
    if (this.#waiting === 0) this.#crowded = false;
    const end = this.#start(next, turn.events);
    // A throttled tenant does not wait because of the queue.
    this.#speed.begun(turn.events, this.#restraint.isActive ? 0 : this.#waiting, nowMs);
    turn.begin(end);
    this.#schedule();
  }

  /** No request can start. A paused tenant continues after its pause, unless a turn ends earlier. */
  #scheduleAfterRest(nowMs: number): void {
    const longest = Math.max(
      ...[...this.#lines.keys()].map((tenantId) => this.#restraint.restsUntil(tenantId) - nowMs),
    );
    if (longest <= 0 || this.#rest !== undefined) return;
    this.#rest = setTimeout(() => {
      this.#rest = undefined;
      this.#schedule();
    }, longest);
  }

  #leastInHand(nowMs: number): Line | undefined {
    let least: Line | undefined;
    for (const line of this.#lines.values()) {
      if (line.waiting.length > 0 && this.#isFree(line, nowMs) && line.inHand < (least?.inHand ?? MAX_IN_PROGRESS))
        least = line;
    }
    return least;
  }
}
