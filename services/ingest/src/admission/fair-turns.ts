import { observeQueue } from '@agentlens/messaging';
import { Restraint } from './restraint.ts';

/** Where nothing is known yet, events per second. */
const ASSUMED = 10_000;
/** A reading is over this long at least; turns come in bursts. */
const READ_OVER_MS = 200;
/** Weight of the newest reading. */
const WEIGHT = 0.5;

/** How fast the lines move, learnt while somebody waits: what begins while nobody does tells what comes, not what is possible. */
export class LineSpeed {
  #perSecond = ASSUMED;
  #begun = 0;
  #sinceMs: number | null = null;

  /** Events per second that begin while others wait, of all tenants. */
  get perSecond(): number {
    return this.#perSecond;
  }

  /** So many events had their turn; `waiting` still wait. Times only go forward. */
  begun(events: number, waiting: number, nowMs: number): void {
    if (this.#sinceMs !== null) this.#count(events, nowMs - this.#sinceMs);
    if (waiting === 0) this.#sinceMs = null;
    else if (this.#sinceMs === null) this.#restart(nowMs);
  }

  #count(events: number, passedMs: number): void {
    this.#begun += events;
    if (passedMs < READ_OVER_MS) return;
    this.#perSecond += ((this.#begun * 1_000) / passedMs - this.#perSecond) * WEIGHT;
    this.#restart((this.#sinceMs ?? 0) + passedMs);
  }

  #restart(nowMs: number): void {
    this.#begun = 0;
    this.#sinceMs = nowMs;
  }
}

/** Events that are worked on at once. */
const IN_ALL = 1_200;
/** Of them one tenant's while it is alone, which leaves room for whoever comes. */
const ALONE = 800;
/** And while others are there. A request of more has its turn by itself. */
const BESIDE_OTHERS = 200;
/** A tenant is there for so long after each request. */
const THERE_MS = 2_000;
/** After so long a turn is over even if its work is not: then it waits for a store, and is in nobody's way. */
const LONGEST_MS = 50;
/** More than this many seconds of a tenant's events would be answered late, and their triggers be late. */
const LATE_S = 0.3;
/** Events that may wait for their turn, whose parsed bodies are held meanwhile: some 40 MB. */
const MOST_WAITING = 20_000;
/** More than this many seconds of a restrained tenant's events would be answered too late to be of use. */
const LONGEST_WAIT_S = 2;

interface FairTurnsDependencies {
  readonly longestMs?: number;
  /** Milliseconds that only go forward. */
  readonly nowMs?: () => number;
  readonly restraint?: Pick<Restraint, 'look' | 'begun' | 'isActive' | 'perSecondOf' | 'restsUntil'>;
}

interface Line {
  readonly tenantId: string;
  readonly waiting: { readonly events: number; readonly begin: () => void }[];
  /** Events worked on now. */
  inHand: number;
  /** Events waiting. */
  behind: number;
}

/**
 * Whose requests are worked on. Everything that is in hand shares one thread, and each step of a request waits for one
 * step of every other. So a tenant has few events in hand at once, the rest wait in its own line, and whoever has the
 * least in hand is next: a flood waits for itself, and who sends little waits for nobody. Alone, a tenant may have more.
 */
export class FairTurns {
  /** Of tenants of which something is in hand or waits; who had a turn is last. */
  readonly #lines = new Map<string, Line>();
  #inHand = 0;
  #waiting = 0;
  #scheduled = false;
  /** Somebody waits only because there are so many: whoever comes now goes behind. */
  #crowded = false;
  /** Who sent last. */
  #latest: string | undefined;
  /** Until then more than one tenant is there. */
  #mixedUntilMs = 0;

  readonly #speed = new LineSpeed();
  readonly #restraint: NonNullable<FairTurnsDependencies['restraint']>;
  readonly #longestMs: number;
  readonly #nowMs: () => number;
  #rest: NodeJS.Timeout | undefined;

  constructor({ longestMs = LONGEST_MS, nowMs, restraint }: FairTurnsDependencies = {}) {
    this.#longestMs = longestMs;
    this.#nowMs = nowMs ?? (() => performance.now());
    this.#restraint = restraint ?? new Restraint();
    observeQueue({ name: 'waiting_events', capacity: MOST_WAITING, size: () => this.#waiting });
  }

  /** Does the work when it is this tenant's turn, at once where nobody is in the way. */
  async run<T>(tenantId: string, weight: number, work: () => Promise<T>): Promise<T> {
    const events = Math.max(1, weight);
    this.#notice(tenantId);
    const nowMs = this.#nowMs();
    this.#restraint.look(nowMs, nowMs < this.#mixedUntilMs);
    const line = this.#lineOf(tenantId);
    if (!this.#crowded && line.waiting.length === 0 && this.#isFree(line, nowMs)) this.#begin(line, events);
    else await this.#turn(line, events);
    const over = this.#over(line, events);
    const timer = setTimeout(over, this.#longestMs);
    try {
      return await work();
    } finally {
      clearTimeout(timer);
      over();
    }
  }

  /** What ends a turn, however often it is called. */
  #over(line: Line, events: number): () => void {
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#inHand -= events;
      line.inHand -= events;
      if (line.inHand === 0 && line.waiting.length === 0) this.#lines.delete(line.tenantId);
      this.#schedule();
    };
  }

  /** So much of this tenant waits that what it sends now is better sent later. */
  isFull(tenantId: string): boolean {
    const behind = this.#lines.get(tenantId)?.behind ?? 0;
    if (behind > this.#restraint.perSecondOf(tenantId) * LONGEST_WAIT_S) return true;
    // Lines take turns: each moves at its part of the speed.
    const inAll = behind * this.#lines.size;
    return inAll > this.#speed.perSecond * LATE_S || (this.#waiting >= MOST_WAITING && inAll >= this.#waiting);
  }

  #notice(tenantId: string): void {
    if (this.#latest === tenantId) return;
    if (this.#latest !== undefined) this.#mixedUntilMs = this.#nowMs() + THERE_MS;
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
    return this.#inHand < IN_ALL && this.#hasShareLeft(line, nowMs);
  }

  #hasShareLeft({ inHand, tenantId }: Line, nowMs: number): boolean {
    if (this.#restraint.restsUntil(tenantId) > nowMs) return false;
    return inHand < (nowMs < this.#mixedUntilMs ? BESIDE_OTHERS : ALONE);
  }

  #turn(line: Line, events: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#crowded ||= this.#hasShareLeft(line, this.#nowMs()) && line.waiting.length === 0;
    line.waiting.push({ events, begin: resolve });
    line.behind += events;
    this.#waiting += events;
    this.#schedule();
    return promise;
  }

  #begin(line: Line, events: number): void {
    line.inHand += events;
    this.#inHand += events;
    this.#restraint.begun(line.tenantId, events, this.#nowMs());
  }

  /** One at a time, with a look at what has arrived in between: it may be somebody else's. */
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
      if (this.#inHand < IN_ALL) this.#crowded = false;
      this.#scheduleAfterRest(nowMs);
      return;
    }
    // Behind the others that have as little in hand.
    this.#lines.delete(next.tenantId);
    this.#lines.set(next.tenantId, next);
    next.behind -= turn.events;
    this.#waiting -= turn.events;
    if (this.#waiting === 0) this.#crowded = false;
    this.#begin(next, turn.events);
    // Who rests waits for no line.
    this.#speed.begun(turn.events, this.#restraint.isActive ? 0 : this.#waiting, nowMs);
    turn.begin();
    this.#schedule();
  }

  /** Nobody can begin: who rests does so again after its rest, if nothing ends before. */
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
      if (line.waiting.length > 0 && this.#isFree(line, nowMs) && line.inHand < (least?.inHand ?? IN_ALL)) least = line;
    }
    return least;
  }
}
