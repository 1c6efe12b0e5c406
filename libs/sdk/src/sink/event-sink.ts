import type { HttpAnswer, RuntimeClock } from '../runtime/runtime.ts';
import { isRecord, parseJson } from '../wire/decision.ts';
import { AUDIT_SCHEMA, type AuditEvent, type RunRef, writeEvent } from './audit-event.ts';
import { backoffMs, retryAfterMs } from './backoff.ts';
import { EventQueue } from './event-queue.ts';
import type { SinkOptions } from './sink-options.ts';

export interface SinkStats {
  /** Given to the sink, the sink's own reports not counted. */
  readonly enqueued: number;
  /** Acknowledged by the server. */
  readonly delivered: number;
  /** Lost for want of room, given up after the last try, or refused. A batch whose answer was lost counts as dropped. */
  readonly dropped: number;
  readonly waiting: number;
}

export interface SinkDependencies {
  readonly clock: RuntimeClock;
  readonly random: () => number;
  readonly newId: (nowMs: number) => string;
  /** Undefined until the agent is registered: nothing is sent before, and nothing is lost meanwhile. */
  readonly agentId: () => string | undefined;
  readonly send: (body: string, batchId: string, timeoutMs: number) => Promise<HttpAnswer>;
  readonly warn: (message: string) => void;
}

interface Batch {
  readonly id: string;
  readonly events: readonly string[];
  /** How many of them the agent made; the report about dropped ones is the sink's own. */
  readonly own: number;
  /** Dropped events that this batch reports; they are reported again if it does not arrive. */
  readonly reported: number;
  readonly lastRun: RunRef;
  /** The place of its first event in all that was ever enqueued. */
  readonly from: number;
}

const MOST_BATCH_CHARS = 700_000;
/** Everything else the server does not want now or ever. */
const WORTH_ANOTHER_TRY = new Set([408, 425, 429]);

/**
 * Takes events from the agent's path, where adding is all that is done, and brings them to the server behind its back.
 * A retry sends the same bytes under the same id, so the server counts nothing twice. Every event is either delivered
 * or counted as dropped, and the count is itself reported, as `sink.dropped`.
 */
export class EventSink {
  readonly #options: SinkOptions;
  readonly #tools: SinkDependencies;
  readonly #queue: EventQueue<AuditEvent>;
  readonly #waiters = new Set<() => void>();
  readonly #wakers = new Set<() => void>();
  #enqueued = 0;
  #delivered = 0;
  #lostInBatches = 0;
  #reported = 0;
  #ownInFlight = 0;
  readonly #inFlight = new Set<Batch>();
  #cancelTimer: (() => void) | undefined;
  #lastRun: RunRef | undefined;
  #draining = 0;
  #closed = false;

  constructor(options: SinkOptions, tools: SinkDependencies) {
    this.#options = options;
    this.#tools = tools;
    this.#queue = new EventQueue(options.maxQueue);
  }

  /** The hot path: no copy, no text, no promise. */
  add(event: AuditEvent): void {
    this.#enqueued++;
    this.#queue.add(event);
    if (this.#cancelTimer === undefined && !this.#closed) this.#schedule();
    else if (this.#queue.size === this.#options.batchSize) this.#soon();
  }

  get stats(): SinkStats {
    return {
      enqueued: this.#enqueued,
      delivered: this.#delivered,
      dropped: this.#dropped,
      waiting: this.#queue.size + this.#ownInFlight,
    };
  }

  /** Begins to send what is there. Any number of callers at once are one flush. */
  flush(): void {
    if (this.#tools.agentId() === undefined) return;
    while (this.#queue.size > 0 && this.#inFlight.size < this.#options.maxInFlight) this.#sendNext();
  }

  /**
   * True when everything added before has been delivered or dropped, and what was dropped has been reported; false
   * when the time is over first.
   */
  async drain(ms: number): Promise<boolean> {
    const target = this.#enqueued;
    this.#draining++;
    let over = false;
    const cancel = this.#tools.clock.timer(
      () => {
        over = true;
        this.#settled();
      },
      ms,
      true,
    );
    try {
      for (const wake of this.#wakers) wake();
      this.flush();
      while (!over && this.#settledUpTo < target) await this.#change();
      if (this.#unreported > 0 && !over && this.#tools.agentId() !== undefined) this.#sendNext();
      while (!over && this.#reportIsOut) await this.#change();
      return this.#settledUpTo >= target && this.#unreported === 0;
    } finally {
      cancel();
      this.#draining--;
    }
  }

  /** Counts everything that waits as dropped, because the process ends. Answers how many events that were. */
  abandon(): number {
    let lost = this.#ownInFlight;
    while (this.#queue.take() !== undefined) lost++;
    this.#ownInFlight = 0;
    this.#lostInBatches += lost;
    this.close();
    return lost;
  }

  /** No timer is left behind; what is added afterwards waits for a drain. */
  close(): void {
    this.#closed = true;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    for (const wake of this.#wakers) wake();
  }

  get #dropped(): number {
    return this.#queue.dropped + this.#lostInBatches;
  }

  get #unreported(): number {
    return this.#dropped - this.#reported;
  }

  get #reportIsOut(): boolean {
    for (const batch of this.#inFlight) if (batch.reported > 0) return true;
    return false;
  }

  /** Everything enqueued before this place has left the process or was dropped. */
  get #settledUpTo(): number {
    let place = this.#enqueued - this.#queue.size;
    for (const batch of this.#inFlight) place = Math.min(place, batch.from);
    return place;
  }

  #change(): Promise<void> {
    return new Promise((resolve) => this.#waiters.add(resolve));
  }

  #sendNext(): void {
    const batch = this.#nextBatch();
    if (batch !== null) void this.#deliver(batch);
  }

  #schedule(ms = this.#options.flushMs): void {
    this.#cancelTimer = this.#tools.clock.timer(() => {
      this.#cancelTimer = undefined;
      this.flush();
      if (!this.#closed && this.#queue.size > 0) this.#schedule();
    }, ms);
  }

  /** A whole batch is waiting: sent after the agent's current turn, not within it. */
  #soon(): void {
    this.#cancelTimer?.();
    this.#schedule(0);
  }

  #nextBatch(): Batch | null {
    const events: string[] = [];
    const from = this.#enqueued - this.#queue.size;
    let chars = 0;
    while (events.length < this.#options.batchSize && chars < MOST_BATCH_CHARS) {
      const event = this.#queue.take();
      if (event === undefined) break;
      this.#lastRun = event.run;
      const text = writeEvent(event);
      chars += text.length;
      events.push(text);
    }
    const own = events.length;
    const reported = this.#unreported;
    const lastRun = this.#lastRun;
    if (lastRun === undefined || (own === 0 && reported === 0)) return null;
    if (reported > 0) events.push(this.#report(reported, lastRun));
    this.#reported += reported;
    this.#ownInFlight += own;
    return { id: this.#tools.newId(this.#tools.clock.now()), events, own, reported, lastRun, from };
  }

  #report(count: number, run: RunRef): string {
    const at = this.#tools.clock.now();
    const data = { count, total: this.#dropped };
    return writeEvent({ id: this.#tools.newId(at), at, kind: 'sink.dropped', run, data });
  }

  async #deliver(batch: Batch): Promise<void> {
    this.#inFlight.add(batch);
    try {
      await this.#tryAll(batch);
    } finally {
      this.#inFlight.delete(batch);
      this.#ownInFlight -= batch.own;
      // What was given up is reported with the next events or by a drain; at once, a refusal would be a loop.
      this.#settled();
      this.flush();
    }
  }

  async #tryAll(batch: Batch): Promise<void> {
    const agentId = this.#tools.agentId() ?? '';
    const body = `{"schema":"${AUDIT_SCHEMA}","agentId":${JSON.stringify(agentId)},"events":[${batch.events.join(',')}]}`;
    let answer: HttpAnswer | null = null;
    for (let attempt = 0; attempt < this.#options.attempts; attempt++) {
      answer = await this.#attempt(body, batch.id);
      if (answer !== null && answer.status >= 200 && answer.status < 300) {
        this.#arrived(batch, answer);
        return;
      }
      if (answer?.status === 413 && batch.events.length > 1) return this.#halves(batch);
      if (answer !== null && answer.status < 500 && !WORTH_ANOTHER_TRY.has(answer.status)) {
        this.#giveUp(batch, `the server refused it with ${answer.status}`);
        return;
      }
      if (attempt + 1 < this.#options.attempts) await this.#pause(attempt, answer);
    }
    const last = answer === null ? 'no answer' : String(answer.status);
    this.#giveUp(batch, `it failed ${this.#options.attempts} times (last: ${last})`);
  }

  /** A batch is taken even where some of its events are not. */
  #arrived(batch: Batch, answer: HttpAnswer): void {
    const refused = Math.min(refusedOf(answer), batch.own);
    this.#delivered += batch.own - refused;
    if (refused === 0) return;
    this.#lostInBatches += refused;
    this.#tools.warn(`the server refused ${refused} events of a batch`);
  }

  async #attempt(body: string, batchId: string): Promise<HttpAnswer | null> {
    try {
      return await this.#tools.send(body, batchId, this.#options.sendTimeoutMs);
    } catch {
      return null;
    }
  }

  /** Too large together: the halves are other batches, with ids of their own. The report goes with the second. */
  async #halves(batch: Batch): Promise<void> {
    const middle = Math.floor(batch.events.length / 2);
    const id = () => this.#tools.newId(this.#tools.clock.now());
    const first = Math.min(middle, batch.own);
    await this.#tryAll({ ...batch, id: id(), events: batch.events.slice(0, middle), own: first, reported: 0 });
    await this.#tryAll({ ...batch, id: id(), events: batch.events.slice(middle), own: batch.own - first });
  }

  #giveUp(batch: Batch, why: string): void {
    this.#lostInBatches += batch.own;
    this.#reported -= batch.reported;
    this.#tools.warn(`a batch of ${batch.own} events was dropped: ${why}`);
  }

  #pause(attempt: number, answer: HttpAnswer | null): Promise<void> {
    const { backoffBaseMs, backoffMostMs } = this.#options;
    const asked = retryAfterMs(answer?.header('retry-after'), this.#tools.clock.now());
    const ms = asked ?? backoffMs(attempt, this.#tools.random, backoffBaseMs, backoffMostMs);
    return new Promise((resolve) => {
      const done = () => {
        cancel();
        this.#wakers.delete(done);
        resolve();
      };
      // While someone waits for a drain the pause may hold the process: it is bounded by the drain.
      const cancel = this.#tools.clock.timer(done, ms, this.#draining > 0);
      this.#wakers.add(done);
    });
  }

  #settled(): void {
    for (const resolve of this.#waiters) resolve();
    this.#waiters.clear();
  }
}

/** 207 says that some were not taken; any other success, whatever its body, that all were. */
function refusedOf(answer: HttpAnswer): number {
  const body = answer.status === 207 ? parseJson(answer.text) : undefined;
  return isRecord(body) && typeof body.rejected === 'number' && body.rejected > 0 ? Math.floor(body.rejected) : 0;
}
