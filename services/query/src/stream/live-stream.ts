import type { ServerResponse } from 'node:http';
import { type Clock, EventStream, type KeyDirectory } from '@agentlens/platform';
import { FrameQueue } from './frame-queue.ts';

const HEARTBEAT_MS = 30_000;
const RETRY_MS = 2_000;

/** Where the frames of a stream come from. */
export interface Feed {
  /** The id a frame gets that is sent now. */
  readonly frameId: string;
  close(): Promise<void>;
}

interface LiveStreamOptions {
  readonly keyId: string;
  /** Checked again and again while the stream is open. */
  readonly key: string;
  readonly keys: KeyDirectory;
  readonly clock: Clock;
  readonly onEnd: (stream: LiveStream) => void;
  /** A frame was given up because the client does not read. */
  readonly onDropped: () => void;
}

/** One open connection of a feed: what is pushed before it starts is sent first. */
export class LiveStream {
  readonly frames: FrameQueue;
  readonly keyId: string;
  readonly #events: EventStream;
  #feed: Feed | undefined;

  constructor({ keyId, key, keys, clock, onEnd, onDropped }: LiveStreamOptions) {
    this.keyId = keyId;
    this.frames = new FrameQueue(onDropped);
    this.#events = new EventStream({
      ...{ key, keys, clock, retryMs: RETRY_MS, heartbeatMs: HEARTBEAT_MS },
      push: (frame) => this.frames.push(frame),
      heartbeatId: () => this.#feed?.frameId,
      onEnd: async () => {
        onEnd(this);
        await this.#closeFeed();
      },
    });
  }

  start(feed: Feed, out: ServerResponse): void {
    this.#feed = feed;
    // A stream ends when the server goes down or the key is gone: the connection must not stay behind, idle.
    if (!this.#events.open(out, { connection: 'close' })) {
      void this.#closeFeed();
      return;
    }
    this.frames.start(out);
    this.#events.heartbeat();
  }

  async close(reason: string): Promise<void> {
    await this.#events.close(reason);
  }

  async #closeFeed(): Promise<void> {
    const feed = this.#feed;
    this.#feed = undefined;
    await feed?.close();
  }
}
