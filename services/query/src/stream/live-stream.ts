import type { ServerResponse } from 'node:http';
import { type Clock, EventStream, type KeyDirectory } from '@agentlens/platform';
import { FrameQueue, type SharedRoom } from './frame-queue.ts';

const HEARTBEAT_MS = 30_000;
const RETRY_MS = 2_000;

/** Source of a stream's frames. */
export interface Feed {
  /** The id of a frame that is sent now. */
  readonly frameId: string;
  close(): Promise<void>;
}

interface LiveStreamOptions {
  readonly keyId: string;
  /** Checked periodically while the stream is open. */
  readonly key: string;
  /** The browser session that opened the stream. */
  readonly session?: string | undefined;
  readonly keys: KeyDirectory;
  readonly clock: Clock;
  readonly onEnd: (stream: LiveStream) => void;
  /** Shared with the other streams of the key and of the instance. */
  readonly room: SharedRoom;
  /** Called when a frame was dropped because the client does not read. */
  readonly onDropped: () => void;
}

/** One open connection of a feed. Frames that arrive before it starts are sent first. */
export class LiveStream {
  readonly frames: FrameQueue;
  readonly keyId: string;
  readonly #events: EventStream;
  #feed: Feed | undefined;

  constructor({ keyId, key, session, keys, clock, room, onEnd, onDropped }: LiveStreamOptions) {
    this.keyId = keyId;
    this.frames = new FrameQueue(onDropped, room);
    this.#events = new EventStream({
      ...{ key, session, keys, clock, retryMs: RETRY_MS, heartbeatMs: HEARTBEAT_MS },
      push: (frame) => this.frames.push(frame),
      heartbeatId: () => this.#feed?.frameId,
      onEnd: async () => {
        onEnd(this);
        this.frames.close();
        await this.#closeFeed();
      },
    });
  }

  start(feed: Feed, out: ServerResponse): void {
    this.#feed = feed;
    // A stream ends when the server shuts down or the key is revoked. The connection must close with it instead of
    // staying idle.
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
