import type { ServerResponse } from 'node:http';
import type { Clock, KeyDirectory } from '@agentlens/platform';
import { FrameQueue } from './frame-queue.ts';

const HEARTBEAT_MS = 30_000;
/** With the directory's own memory of 4 s at most, a revoked key sees nothing after about 5 s. */
const KEY_CHECK_MS = 1_000;

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

/** One open connection: heartbeats, the key's validity, and an end that always lets go of everything. */
export class LiveStream {
  readonly frames: FrameQueue;
  readonly keyId: string;
  readonly #options: LiveStreamOptions;
  #feed: Feed | undefined;
  #out: ServerResponse | undefined;
  #timers: NodeJS.Timeout[] = [];
  #ended = false;

  constructor(options: LiveStreamOptions) {
    this.keyId = options.keyId;
    this.frames = new FrameQueue(options.onDropped);
    this.#options = options;
  }

  start(feed: Feed, out: ServerResponse, headers: Record<string, string>): void {
    this.#feed = feed;
    this.#out = out;
    out.on('close', () => void this.#end());
    out.on('error', () => void this.#end());
    out.writeHead(200, headers);
    // The reader may have left, or the server begun to go down, while the feed was opened: no event will say so again.
    if (this.#ended || out.destroyed || out.socket?.destroyed === true) {
      out.end();
      void this.#end();
      return;
    }
    out.write('retry: 2000\n\n');
    this.frames.start(out);
    this.#heartbeat();
    this.#timers = [
      setInterval(() => this.#heartbeat(), HEARTBEAT_MS),
      setInterval(() => void this.#checkKey(), KEY_CHECK_MS),
    ];
  }

  async close(reason: string): Promise<void> {
    this.frames.push({ event: 'closed', data: { reason } });
    this.#out?.end();
    await this.#end();
  }

  #heartbeat(): void {
    const time = new Date(this.#options.clock.now()).toISOString();
    this.frames.push({ event: 'heartbeat', id: this.#feed?.frameId, data: { time } });
  }

  /** A directory that cannot say now keeps the stream open: the reads of it would be refused anyway. */
  async #checkKey(): Promise<void> {
    const check = await this.#options.keys.check(this.#options.key);
    if (check.kind === 'refused') await this.close('The API key is not valid any more');
  }

  async #end(): Promise<void> {
    this.#ended = true;
    for (const timer of this.#timers) clearInterval(timer);
    this.#timers = [];
    const feed = this.#feed;
    this.#feed = undefined;
    this.#options.onEnd(this);
    await feed?.close();
  }
}
