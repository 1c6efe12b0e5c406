import type { HttpAnswer, RuntimeClock } from '../runtime/runtime.ts';
import { isRecord, parseJson } from '../wire/decision.ts';
import { AUDIT_SCHEMA, type AuditEvent, type RunRef, writeEvent } from './audit-event.ts';
import { backoffMs, retryAfterMs } from './backoff.ts';
import { EventQueue, type SinkOptions } from './event-queue.ts';

export interface SinkStats {
  /** Added to the sink, excluding the sink's own reports. */
  readonly enqueued: number;
  /** Acknowledged by the server. */
  readonly delivered: number;
  /**
   * Dropped from a full queue, given up after the last attempt, or rejected. A batch whose response was lost counts as
   * dropped.
   */
  readonly dropped: number;
  readonly waiting: number;
}

export interface SinkDependencies {
  readonly clock: RuntimeClock;
  readonly random: () => number;
  readonly newId: (nowMs: number) => string;
  /** Undefined until the agent is registered; until then nothing is sent, and events wait. */
  readonly agentId: () => string | undefined;
  readonly send: (body: string, batchId: string, timeoutMs: number) => Promise<HttpAnswer>;
  readonly warn: (message: string) => void;
}

interface Batch {
  readonly id: string;
  readonly events: readonly string[];
  /** Events from the agent; the report about dropped ones is the sink's own. */
  readonly own: number;
  /** Dropped events reported by this batch; reported again if it is not delivered. */
  readonly reported: number;
  readonly lastRun: RunRef;
  /** Position of its first event among all enqueued events. */
  readonly from: number;
}

const MAX_BATCH_CHARS = 700_000;
/** All other statuses are final. */
const WORTH_ANOTHER_TRY = new Set([408, 425, 429]);

/**
 * Event sink: adding is synchronous and cheap, delivery happens in the background. A retry sends the same bytes under
 * the same id, so the server deduplicates it. Every event is delivered or counted as dropped, and the count itself is
 * reported as `sink.dropped`.
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
  #abandoned = false;

  constructor(options: SinkOptions, tools: SinkDependencies) {
    this.#options = options;
    this.#tools = tools;
    this.#queue = new EventQueue(options.maxQueue);
  }

  /** Hot path: no copy, no string, no promise. */
  add(event: AuditEvent): void {
    this.#enqueued++;
    this.#queue.add(event);
    if (this.#cancelTimer === undefined && !this.#closed) this.#schedule();
    else if (this.#queue.size === this.#options.batchSize) this.#flushSoon();
  }

  get stats(): SinkStats {
    return {
      enqueued: this.#enqueued,
      delivered: this.#delivered,
      dropped: this.#dropped,
      waiting: this.#queue.size + this.#ownInFlight,
    };
  }

  /** Starts sending. Concurrent callers share one flush. */
  flush(): void {
    if (this.#tools.agentId() === undefined) return;
    while (this.#queue.size > 0 && this.#inFlight.size < this.#options.maxInFlight) this.#sendNext();
  }

  /**
   * Returns true when every earlier event has been delivered or dropped and the drops were reported; false on timeout.
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
      while (!over && this.#reportInFlight) await this.#change();
      return this.#settledUpTo >= target && this.#unreported === 0;
    } finally {
      cancel();
      this.#draining--;
    }
  }

  /** Counts all waiting events as dropped because nothing sends them any more. Returns their number. */
  abandon(): number {
    this.#abandoned = true;
    let lost = this.#ownInFlight;
    while (this.#queue.take() !== undefined) lost++;
    this.#ownInFlight = 0;
    this.#lostInBatches += lost;
    this.close();
    return lost;
  }

  /** Clears all timers; events added afterwards wait for a drain. */
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

  get #reportInFlight(): boolean {
    for (const batch of this.#inFlight) if (batch.reported > 0) return true;
    return false;
  }

  /** Every event enqueued before this position has been delivered or dropped. */
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

  /** Sends a full batch after the current turn of the event loop, not within it. */
  #flushSoon(): void {
    this.#cancelTimer?.();
    this.#schedule(0);
  }

  #nextBatch(): Batch | null {
    const events: string[] = [];
    const from = this.#enqueued - this.#queue.size;
    let chars = 0;
    while (events.length < this.#options.batchSize && chars < MAX_BATCH_CHARS) {
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
      if (!this.#abandoned) this.#ownInFlight -= batch.own;
      // Drops are reported with the next events or by a drain; reporting at once would loop on rejections.
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
        this.#onDelivered(batch, answer);
        return;
      }
      if (answer?.status === 413 && batch.events.length > 1) return this.#sendHalves(batch);
      if (answer !== null && answer.status < 500 && !WORTH_ANOTHER_TRY.has(answer.status)) {
        this.#giveUp(batch, `the server rejected it with ${answer.status}`);
        return;
      }
      if (attempt + 1 < this.#options.attempts) await this.#pause(attempt, answer);
    }
    const last = answer === null ? 'no answer' : String(answer.status);
    this.#giveUp(batch, `it failed ${this.#options.attempts} times (last: ${last})`);
  }

  /** A batch counts as delivered even if some of its events were rejected. */
  #onDelivered(batch: Batch, answer: HttpAnswer): void {
    // It counts as dropped already.
    if (this.#abandoned) return;
    const refused = Math.min(refusedOf(answer), batch.own);
    this.#delivered += batch.own - refused;
    if (refused === 0) return;
    this.#lostInBatches += refused;
    this.#tools.warn(`the server rejected ${refused} events of a batch`);
  }

  async #attempt(body: string, batchId: string): Promise<HttpAnswer | null> {
    try {
      return await this.#tools.send(body, batchId, this.#options.sendTimeoutMs);
    } catch {
      return null;
    }
  }

  /** The batch is too large: the halves become batches with new ids. The drop report goes with the second. */
  async #sendHalves(batch: Batch): Promise<void> {
    const middle = Math.floor(batch.events.length / 2);
    const id = () => this.#tools.newId(this.#tools.clock.now());
    const first = Math.min(middle, batch.own);
    await this.#tryAll({ ...batch, id: id(), events: batch.events.slice(0, middle), own: first, reported: 0 });
    await this.#tryAll({ ...batch, id: id(), events: batch.events.slice(middle), own: batch.own - first });
  }

  #giveUp(batch: Batch, why: string): void {
    if (this.#abandoned) return;
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
      // During a drain the delay may keep the process alive: the drain bounds it.
      const cancel = this.#tools.clock.timer(done, ms, this.#draining > 0);
      this.#wakers.add(done);
    });
  }

  #settled(): void {
    for (const resolve of this.#waiters) resolve();
    this.#waiters.clear();
  }
}

/** 207 reports that some events were rejected; any other success means that none were. */
function refusedOf(answer: HttpAnswer): number {
  const body = answer.status === 207 ? parseJson(answer.text) : undefined;
  return isRecord(body) && typeof body.rejected === 'number' && body.rejected > 0 ? Math.floor(body.rejected) : 0;
}
