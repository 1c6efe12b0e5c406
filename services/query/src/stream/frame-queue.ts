import type { Writable } from 'node:stream';
import { Fifo } from '@agentlens/messaging';
import { frameText, type StreamFrame } from '@agentlens/platform';

/** What a slow reader may have waiting before the oldest of it is given up. */
interface QueueBounds {
  readonly frames: number;
  readonly bytes: number;
}

/** Wide enough for what a client missed during a short absence, which arrives at once. */
const DEFAULT_BOUNDS: QueueBounds = { frames: 20_000, bytes: 16 * 1024 * 1024 };

interface Waiting {
  readonly text: string;
  readonly id?: string;
}

/**
 * The frames of one client on their way out. Written at once while the client reads; while it does not, a bounded number
 * waits, then the oldest are dropped and the client is told how many and where to resume to get them.
 */
export class FrameQueue {
  readonly #bounds: QueueBounds;
  readonly #waiting = new Fifo<Waiting>();
  #waitingBytes = 0;
  #out: Writable | undefined;
  #blocked = true;
  #dropped = 0;
  #lastSentId: string | undefined;
  readonly #onDropped: () => void;

  /** @param onDropped called once for each frame the client will not get */
  constructor(onDropped: () => void, bounds: QueueBounds = DEFAULT_BOUNDS) {
    this.#onDropped = onDropped;
    this.#bounds = bounds;
  }

  /** From now on frames go here; what was pushed before goes first. */
  start(out: Writable): void {
    this.#out = out;
    out.on('drain', () => this.#flush());
    this.#flush();
  }

  push(frame: StreamFrame): void {
    const waiting = { text: frameText(frame), id: frame.id };
    if (!this.#blocked) {
      this.#send(waiting);
      return;
    }
    this.#waiting.push(waiting);
    this.#waitingBytes += waiting.text.length;
    while (this.#isOverfull()) this.#dropOldest();
  }

  #isOverfull(): boolean {
    const { frames, bytes } = this.#bounds;
    return this.#waiting.length > frames || (this.#waitingBytes > bytes && this.#waiting.length > 1);
  }

  #dropOldest(): void {
    const oldest = this.#waiting.shift();
    this.#waitingBytes -= oldest?.text.length ?? 0;
    this.#dropped += 1;
    this.#onDropped();
  }

  #flush(): void {
    this.#blocked = false;
    this.#reportDropped();
    while (!this.#blocked) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      this.#waitingBytes -= next.text.length;
      this.#send(next);
    }
  }

  #reportDropped(): void {
    if (this.#dropped === 0) return;
    const data = { count: this.#dropped, lastEventId: this.#lastSentId ?? null };
    this.#dropped = 0;
    this.#send({ text: frameText({ event: 'dropped', data }) });
  }

  #send({ text, id }: Waiting): void {
    if (this.#out === undefined || this.#out.writableEnded || this.#out.destroyed) return;
    if (id !== undefined) this.#lastSentId = id;
    this.#blocked = !this.#out.write(text);
  }
}
