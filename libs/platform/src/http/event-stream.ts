import type { ServerResponse } from 'node:http';
import type { KeyDirectory } from '../auth/cached-key-directory.ts';
import type { Clock } from '../platform.ts';

/** With the directory's own memory of 4 s at most, a revoked key hears nothing after about 5 s. */
const KEY_CHECK_MS = 1_000;

export const EVENT_STREAM_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store, no-transform',
  // Proxies of the nginx family would hold frames back to fill a buffer.
  'x-accel-buffering': 'no',
};

export interface StreamFrame {
  readonly event: string;
  readonly data: unknown;
  readonly id?: string;
}

/** JSON has no raw line breaks, so `data` is always one line. */
export function frameText({ event, data, id }: StreamFrame): string {
  return `event: ${event}\n${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`;
}

interface EventStreamOptions {
  /** Checked again and again while the stream is open. */
  readonly key: string;
  readonly keys: KeyDirectory;
  readonly clock: Clock;
  /** How long a client waits before it connects again. */
  readonly retryMs: number;
  readonly heartbeatMs: number;
  /** Writes a frame, and decides what happens if the client does not read. */
  readonly push: (frame: StreamFrame) => void;
  /** Where a client resumes that got a heartbeat. */
  readonly heartbeatId: () => string | undefined;
  readonly onHeartbeat?: () => void;
  /** Called once, whoever ends the stream. */
  readonly onEnd: () => void | Promise<void>;
}

/** Server-sent events to one client: headers, heartbeats, the validity of its key, and an end that comes once. */
export class EventStream {
  readonly #options: EventStreamOptions;
  #out: ServerResponse | undefined;
  #timers: NodeJS.Timeout[] = [];
  #ended = false;

  constructor(options: EventStreamOptions) {
    this.#options = options;
  }

  /** False if the reader has left, or the stream was closed, before it began: no event will say so again. */
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

  /** A directory that cannot say now keeps the stream open: the reads of it would be refused anyway. */
  async #checkKey(): Promise<void> {
    const check = await this.#options.keys.check(this.#options.key);
    if (check.kind === 'refused') await this.close('The API key is not valid any more');
  }

  async #end(): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    for (const timer of this.#timers) clearInterval(timer);
    await this.#options.onEnd();
  }
}
