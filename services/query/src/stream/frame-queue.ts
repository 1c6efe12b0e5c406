import type { Writable } from 'node:stream';
import { Fifo } from '@agentlens/messaging';
import { frameText, type StreamFrame } from '@agentlens/platform';

/** Limits of what may wait for a slow reader before the oldest frames are dropped. */
interface QueueBounds {
  readonly frames: number;
  readonly bytes: number;
}

/** Large enough for the frames that a client missed during a short absence, which arrive at once. */
const DEFAULT_BOUNDS: QueueBounds = { frames: 20_000, bytes: 16 * 1024 * 1024 };

interface Waiting {
  readonly text: string;
  readonly id?: string;
}

/**
 * Outgoing frames of one client. Frames are written immediately while the client reads. Otherwise a limited number
 * waits; beyond that the oldest are dropped, and the client receives their number and the position to resume from.
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

  /** @param onDropped called once for each dropped frame */
  constructor(onDropped: () => void, bounds: QueueBounds = DEFAULT_BOUNDS) {
    this.#onDropped = onDropped;
    this.#bounds = bounds;
  }

  /** Sends all waiting frames to `out`, then every new frame. */
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
