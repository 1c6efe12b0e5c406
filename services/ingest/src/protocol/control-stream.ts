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
import { backlog, type ControlFrame } from './control-frames.ts';
import type { Listener, Listeners } from './listeners.ts';

const HEARTBEAT_MS = 10_000;
const RETRY_MS = 1_000;
/** A client that does not read is cut; it comes back with its position and is told what it missed. */
const MOST_UNREAD_BYTES = 1024 * 1024;

interface ControlStreamOptions {
  readonly listener: Omit<Listener, 'instanceId'> & {
    readonly instanceId: string | undefined;
    readonly mayHear: (item: ControlItem) => boolean;
  };
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
    const { board, listener, after, clock } = this.#options;
    // Read and followed in one turn: no change falls between.
    const { frames, items } = backlog(board, listener, after);
    this.#unfollow = board.follow({
      ...listener,
      notice: (item) => {
        if (listener.mayHear(item)) this.#show(frames.of(item));
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

  /** News that stand for themselves: they carry no id and are not told again. */
  tell(event: string, data: unknown): void {
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
    if (out.writableLength <= MOST_UNREAD_BYTES) return;
    this.#options.onCut();
    out.destroy();
  }

  #touch(): void {
    const { listener, listeners } = this.#options;
    if (listener.instanceId !== undefined) listeners.touch({ ...listener, instanceId: listener.instanceId });
  }
}
