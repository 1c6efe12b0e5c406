import type { ServerResponse } from 'node:http';
import {
  type Clock,
  type ControlBoard,
  type ControlItem,
  type ControlPosition,
  EventStream,
  frameText,
  type KeyDirectory,
  type StreamFrame,
} from '@agentlens/platform';
import type { ConnectionSecret } from './connection-secrets.ts';
import { backlog, type ControlFrame } from './control-frames.ts';
import type { Listener, Listeners } from './listeners.ts';

const HEARTBEAT_MS = 10_000;
const RETRY_MS = 1_000;
/** A client that does not read is disconnected; it reconnects with its position and gets what it missed. */
const MAX_UNREAD_BYTES = 1024 * 1024;

interface ControlStreamOptions {
  readonly listener: Omit<Listener, 'instanceId'> & {
    readonly instanceId: string | undefined;
    readonly mayReceive: (item: ControlItem) => boolean;
  };
  readonly after: ControlPosition | undefined;
  /** For signing acknowledgements; undefined for a client without an instance id. */
  readonly connection: ConnectionSecret | undefined;
  readonly board: ControlBoard;
  readonly listeners: Listeners;
  readonly key: string;
  readonly keys: KeyDirectory;
  readonly clock: Clock;
  readonly onEnd: (stream: ControlStream) => void;
  /** Called when the connection is closed because the client does not read. */
  readonly onCut: () => void;
}

/** The stream to one SDK instance: the current state first, then every change. */
export class ControlStream {
  readonly #options: ControlStreamOptions;
  readonly #events: EventStream;
  #out: ServerResponse | undefined;
  #unfollow: (() => void) | undefined;
  #lastId: string | undefined;

  constructor(options: ControlStreamOptions) {
    this.#options = options;
    const { key, keys, clock, onEnd } = options;
    this.#events = new EventStream({
      ...{ key, keys, clock, retryMs: RETRY_MS, heartbeatMs: HEARTBEAT_MS },
      push: (frame) => this.#push(frame),
      heartbeatId: () => this.#lastId,
      onHeartbeat: () => this.#touch(),
      onEnd: () => {
        this.#unfollow?.();
        onEnd(this);
      },
    });
  }

  start(out: ServerResponse): void {
    this.#out = out;
    if (!this.#events.open(out)) return;
    const { board, listener, after, clock, connection } = this.#options;
    // Before the orders, because they are acknowledged at once.
    if (connection !== undefined) this.#push({ event: 'connection', data: connection });
    // Read and subscribed in one turn of the event loop, so that no change is missed.
    const { frames, items } = backlog(board, listener, after);
    this.#unfollow = board.follow({
      ...listener,
      notice: (item) => {
        if (listener.mayReceive(item)) this.#show(frames.of(item));
      },
    });
    for (const item of items) this.#show(item);
    this.#lastId = frames.id;
    this.#push({ event: 'ready', id: frames.id, data: { time: new Date(clock.now()).toISOString() } });
    this.#touch();
  }

  get agentId(): string {
    return this.#options.listener.agentId;
  }

  get instanceId(): string | undefined {
    return this.#options.listener.instanceId;
  }

  get tenantId(): string {
    return this.#options.listener.tenantId;
  }

  /** Sends news without an id, which is not repeated. */
  send(event: string, data: unknown): void {
    this.#push({ event, data });
  }

  close(reason: string): void {
    void this.#events.close(reason);
  }

  #show({ kind, id, value }: ControlFrame): void {
    this.#lastId = id;
    this.#push({ event: kind, id, data: value });
  }

  #push(frame: StreamFrame): void {
    const out = this.#out;
    if (out === undefined || out.writableEnded || out.destroyed) return;
    out.write(frameText(frame));
    if (out.writableLength <= MAX_UNREAD_BYTES) return;
    this.#options.onCut();
    out.destroy();
  }

  #touch(): void {
    const { listener, listeners } = this.#options;
    if (listener.instanceId !== undefined) listeners.touch({ ...listener, instanceId: listener.instanceId });
  }
}
