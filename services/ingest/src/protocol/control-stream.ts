import type { ServerResponse } from 'node:http';
import type { Clock, ControlBoard, ControlPosition, KeyDirectory } from '@agentlens/platform';
import { backlog, type ControlFrame } from './control-frames.ts';
import type { Listener, Listeners } from './listeners.ts';

const HEARTBEAT_MS = 10_000;
/** With the directory's own memory of 4 s at most, a revoked key hears nothing after about 5 s. */
const KEY_CHECK_MS = 1_000;
/** A client that does not read is cut; it comes back with its position and is told what it missed. */
const MOST_UNREAD_BYTES = 1024 * 1024;

const SSE_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store, no-transform',
  // Proxies of the nginx family would hold frames back to fill a buffer.
  'x-accel-buffering': 'no',
};

interface ControlStreamOptions {
  readonly listener: Omit<Listener, 'instanceId'> & { readonly instanceId: string | undefined };
  readonly after: ControlPosition | undefined;
  readonly board: ControlBoard;
  readonly listeners: Listeners;
  readonly key: string;
  readonly keys: KeyDirectory;
  readonly clock: Clock;
  readonly onEnd: (stream: ControlStream) => void;
  /** The connection was given up because the client does not read. */
  readonly onCut: () => void;
}

/** One SDK instance that listens: what stands first, then every change as it is made. */
export class ControlStream {
  readonly #options: ControlStreamOptions;
  readonly #out: ServerResponse;
  readonly #timers: NodeJS.Timeout[];
  readonly #unfollow: () => void;
  #lastId: string;

  constructor(out: ServerResponse, options: ControlStreamOptions) {
    this.#options = options;
    this.#out = out;
    const { board, listener, after } = options;
    out.on('close', () => this.#end());
    out.on('error', () => this.#end());
    out.writeHead(200, SSE_HEADERS);
    out.write('retry: 1000\n\n');
    // Read and followed in one turn: no change falls between.
    const { frames, items } = backlog(board, listener, after);
    this.#unfollow = board.follow({ ...listener, notice: (item) => this.#show(frames.of(item)) });
    this.#lastId = items[0]?.id ?? frames.id;
    for (const item of items) this.#show(item);
    this.#lastId = frames.id;
    this.#send('ready', { time: this.#now() });
    this.#touch();
    this.#timers = [
      setInterval(() => this.#heartbeat(), HEARTBEAT_MS),
      setInterval(() => void this.#checkKey(), KEY_CHECK_MS),
    ];
  }

  get agentId(): string {
    return this.#options.listener.agentId;
  }

  get tenantId(): string {
    return this.#options.listener.tenantId;
  }

  /** News that stand for themselves: they carry no id and are not told again. */
  tell(event: string, data: unknown): void {
    this.#write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  close(reason: string): void {
    this.tell('closed', { reason });
    this.#out.end();
    this.#end();
  }

  #show({ kind, id, value }: ControlFrame): void {
    this.#lastId = id;
    this.#send(kind, value);
  }

  #heartbeat(): void {
    this.#send('heartbeat', { time: this.#now() });
    this.#touch();
  }

  #send(event: string, data: unknown): void {
    this.#write(`event: ${event}\nid: ${this.#lastId}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  #write(text: string): void {
    if (this.#out.writableEnded || this.#out.destroyed) return;
    this.#out.write(text);
    if (this.#out.writableLength <= MOST_UNREAD_BYTES) return;
    this.#options.onCut();
    this.#out.destroy();
  }

  #touch(): void {
    const { listener, listeners } = this.#options;
    if (listener.instanceId !== undefined) listeners.touch({ ...listener, instanceId: listener.instanceId });
  }

  /** A directory that cannot say now keeps the stream open. */
  async #checkKey(): Promise<void> {
    const { keys, key } = this.#options;
    const check = await keys.check(key);
    if (check.kind === 'refused') this.close('The API key is not valid any more');
  }

  #now(): string {
    return new Date(this.#options.clock.now()).toISOString();
  }

  #end(): void {
    for (const timer of this.#timers ?? []) clearInterval(timer);
    this.#unfollow?.();
    this.#options.onEnd(this);
  }
}
