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

/** Bytes that wait for slow readers of one key, and of all keys of the instance. */
const MAX_BYTES_PER_KEY = 16 * 1024 * 1024;
const MAX_BYTES = 64 * 1024 * 1024;

/** What a queue may hold together with others. */
export interface SharedRoom {
  /** Negative when frames leave. */
  add(bytes: number): void;
  isFull(): boolean;
}

/** Bounds the bytes that all streams of a key, and all streams of an instance, keep for slow readers. */
export class FrameRoom {
  readonly #ofKeys = new Map<string, number>();
  #bytes = 0;

  constructor(
    private readonly maxBytesPerKey = MAX_BYTES_PER_KEY,
    private readonly maxBytes = MAX_BYTES,
  ) {}

  get bytes(): number {
    return this.#bytes;
  }

  forKey(keyId: string): SharedRoom {
    return {
      add: (bytes) => {
        this.#bytes += bytes;
        const ofKey = (this.#ofKeys.get(keyId) ?? 0) + bytes;
        if (ofKey === 0) this.#ofKeys.delete(keyId);
        else this.#ofKeys.set(keyId, ofKey);
      },
      isFull: () => this.#bytes > this.maxBytes || (this.#ofKeys.get(keyId) ?? 0) > this.maxBytesPerKey,
    };
  }
}

interface Waiting {
  readonly text: string;
  readonly bytes: number;
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
  #isClosed = false;
  readonly #onDropped: () => void;
  readonly #room: SharedRoom;

  /** @param onDropped called once for each dropped frame */
  constructor(onDropped: () => void, room: SharedRoom, bounds: QueueBounds = DEFAULT_BOUNDS) {
    this.#onDropped = onDropped;
    this.#room = room;
    this.#bounds = bounds;
  }

  /** Drops everything that waits: the client is gone. */
  close(): void {
    this.#isClosed = true;
    while (this.#shift() !== undefined);
  }

  /** Sends all waiting frames to `out`, then every new frame. */
  start(out: Writable): void {
    this.#out = out;
    out.on('drain', () => this.#flush());
    this.#flush();
  }

  push(frame: StreamFrame): void {
    if (this.#isClosed) return;
    const text = frameText(frame);
    const waiting = { text, bytes: Buffer.byteLength(text), id: frame.id };
    if (!this.#blocked) {
      this.#send(waiting);
      return;
    }
    this.#waiting.push(waiting);
    this.#waitingBytes += waiting.bytes;
    this.#room.add(waiting.bytes);
    while (this.#isOverfull()) this.#dropOldest();
  }

  #isOverfull(): boolean {
    const { frames, bytes } = this.#bounds;
    if (this.#waiting.length > frames) return true;
    return this.#waiting.length > 1 && (this.#waitingBytes > bytes || this.#room.isFull());
  }

  #dropOldest(): void {
    this.#shift();
    this.#dropped += 1;
    this.#onDropped();
  }

  #flush(): void {
    this.#blocked = false;
    this.#reportDropped();
    while (!this.#blocked) {
      const next = this.#shift();
      if (next === undefined) return;
      this.#send(next);
    }
  }

  #shift(): Waiting | undefined {
    const next = this.#waiting.shift();
    if (next === undefined) return undefined;
    this.#waitingBytes -= next.bytes;
    this.#room.add(-next.bytes);
    return next;
  }

  #reportDropped(): void {
    if (this.#dropped === 0) return;
    const data = { count: this.#dropped, lastEventId: this.#lastSentId ?? null };
    this.#dropped = 0;
    this.#send({ text: frameText({ event: 'dropped', data }) });
  }

  #send({ text, id }: Pick<Waiting, 'text' | 'id'>): void {
    if (this.#out === undefined || this.#out.writableEnded || this.#out.destroyed) return;
    if (id !== undefined) this.#lastSentId = id;
    this.#blocked = !this.#out.write(text);
  }
}
