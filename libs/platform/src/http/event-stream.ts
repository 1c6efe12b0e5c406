import type { ServerResponse } from 'node:http';
import type { KeyDirectory } from '../auth/cached-key-directory.ts';
import type { Clock } from '../platform.ts';

/** With the 4 s cache of the key directory, a revoked key stops receiving after about 5 s. */
const KEY_CHECK_MS = 1_000;

export const EVENT_STREAM_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store, no-transform',
  // Keeps nginx from buffering frames.
  'x-accel-buffering': 'no',
};

export interface StreamFrame {
  readonly event: string;
  readonly data: unknown;
  readonly id?: string;
}

/** JSON contains no raw line breaks, so `data` is one line. */
export function frameText({ event, data, id }: StreamFrame): string {
  return `event: ${event}\n${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`;
}

interface EventStreamOptions {
  /** Checked regularly while the stream is open. */
  readonly key: string;
  /** The browser session that opened the stream. */
  readonly session?: string | undefined;
  readonly keys: KeyDirectory;
  readonly clock: Clock;
  /** Pause before the client reconnects, ms. */
  readonly retryMs: number;
  readonly heartbeatMs: number;
  /** Writes a frame, and handles a client that does not read. */
  readonly push: (frame: StreamFrame) => void;
  /** Event id from which a client resumes after a heartbeat. */
  readonly heartbeatId: () => string | undefined;
  readonly onHeartbeat?: () => void;
  /** Called once, regardless of which side ends the stream. */
  readonly onEnd: () => void | Promise<void>;
}

/** Server-sent events to one client, with headers, heartbeats, checks of its key and a single end. */
export class EventStream {
  readonly #options: EventStreamOptions;
  #out: ServerResponse | undefined;
  #timers: NodeJS.Timeout[] = [];
  #ended = false;

  constructor(options: EventStreamOptions) {
    this.#options = options;
  }

  /** Returns false if the client left, or the stream was closed, before it began. */
  open(out: ServerResponse, headers: Readonly<Record<string, string>> = {}): boolean {
    const { retryMs, heartbeatMs } = this.#options;
    this.#out = out;
    out.on('close', () => void this.#end());
    out.on('error', () => void this.#end());
    out.writeHead(200, { ...EVENT_STREAM_HEADERS, ...headers });
    if (this.#ended || out.destroyed || out.socket?.destroyed === true) {
      out.end();
      void this.#end();
      return false;
    }
    out.write(`retry: ${retryMs}\n\n`);
    this.#timers = [
      setInterval(() => this.heartbeat(), heartbeatMs),
      setInterval(() => void this.#checkKey(), KEY_CHECK_MS),
    ];
    return true;
  }

  heartbeat(): void {
    const { clock, push, heartbeatId, onHeartbeat } = this.#options;
    push({ event: 'heartbeat', id: heartbeatId(), data: { time: new Date(clock.now()).toISOString() } });
    onHeartbeat?.();
  }

  async close(reason: string): Promise<void> {
    this.#options.push({ event: 'closed', data: { reason } });
    this.#out?.end();
    await this.#end();
  }

  /** If keys cannot be checked, the stream stays open; reads would be rejected anyway. */
  async #checkKey(): Promise<void> {
    const check = await this.#options.keys.check(this.#options.key, this.#options.session);
    if (check.kind === 'refused') await this.close('The API key is no longer valid');
  }

  async #end(): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    for (const timer of this.#timers) clearInterval(timer);
    await this.#options.onEnd();
  }
}
