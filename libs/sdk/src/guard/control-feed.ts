import type { RuntimeClock } from '../runtime/runtime.ts';
import { backoffMs } from '../sink/backoff.ts';
import { isRecord, parseJson } from '../wire/decision.ts';
import { within } from '../wire/failures.ts';
import type { Server } from '../wire/server.ts';

export interface ServerSentEvent {
  readonly id: string;
  readonly event: string;
  readonly data: string;
}

const MAX_EVENT_CHARS = 1_000_000;

/** Parses text/event-stream by the rules of the HTML standard. Comments only keep the connection alive. */
export async function* serverSentEvents(chunks: AsyncIterable<string>): AsyncGenerator<ServerSentEvent> {
  let rest = '';
  let lastId = '';
  let event = '';
  let data: string[] = [];
  for await (const chunk of chunks) {
    rest += chunk;
    if (rest.length > MAX_EVENT_CHARS) throw new Error('an event of the control stream is too long');
    // A carriage return at the very end may be the first half of a line end.
    const whole = rest.endsWith('\r') ? rest.slice(0, -1) : rest;
    const lines = whole.split(/\r\n|\n|\r/);
    rest = (lines.pop() ?? '') + rest.slice(whole.length);
    for (const line of lines) {
      if (line === '') {
        if (data.length > 0) yield { id: lastId, event: event === '' ? 'message' : event, data: data.join('\n') };
        event = '';
        data = [];
        continue;
      }
      const [name, value] = field(line);
      if (name === 'data') data.push(value);
      else if (name === 'event') event = value;
      else if (name === 'id' && !value.includes('\0')) lastId = value;
    }
  }
}

function field(line: string): [string, string] {
  const colon = line.indexOf(':');
  if (colon === -1) return [line, ''];
  const value = line.slice(colon + 1);
  return [line.slice(0, colon), value.startsWith(' ') ? value.slice(1) : value];
}

interface ControlFeedDependencies {
  readonly clock: RuntimeClock;
  readonly random: () => number;
  readonly server: Pick<Server, 'openControlStream' | 'pollControl'>;
  readonly deadlineMs: number;
  readonly warn: (message: string) => void;
  /** The key is no longer valid, unlike a key that may not listen. */
  readonly keyRefused: () => void;
  /** Receives every parsed message and interprets it. */
  readonly receive: (event: string, message: unknown) => void;
}

/** `stream` and `poll` keep a connection; `none`: this server gives no orders. */
export type FeedMode = 'stream' | 'poll' | 'none';

/** The server sends a comment at least this often; longer silence means the connection is dead. */
const MAX_SILENCE_MS = 35_000;
const POLL_WAIT_MS = 25_000;
const BACKOFF_BASE_MS = 500;
const MAX_BACKOFF_MS = 15_000;
const NOT_OFFERED = new Set([404, 405, 406, 501]);
const NOT_ALLOWED = new Set([401, 403]);

/**
 * Receives operator orders for the lifetime of the process: over a stream, or by long polling if streams are blocked.
 * Never keeps the process alive and keeps retrying an unavailable server.
 */
export class ControlFeed {
  readonly #tools: ControlFeedDependencies;
  readonly #agentId: string;
  readonly #instanceId: string;
  readonly #closing = new AbortController();
  #mode: FeedMode;
  #position = '';
  #failures = 0;
  #connected = false;

  constructor(agentId: string, instanceId: string, mode: 'stream' | 'poll', tools: ControlFeedDependencies) {
    this.#agentId = agentId;
    this.#instanceId = instanceId;
    this.#mode = mode;
    this.#tools = tools;
    void this.#follow();
  }

  get mode(): FeedMode {
    return this.#mode;
  }

  /** True if an order arrives as soon as it is given. */
  get connected(): boolean {
    return this.#connected;
  }

  close(): void {
    this.#closing.abort();
  }

  async #follow(): Promise<void> {
    while (!this.#closing.signal.aborted && this.#mode !== 'none') {
      try {
        await (this.#mode === 'stream' ? this.#listen() : this.#poll());
      } catch {
        this.#failures++;
      }
      this.#connected = false;
      await this.#pause();
    }
  }

  async #listen(): Promise<void> {
    const { clock, server, deadlineMs } = this.#tools;
    const attempt = this.#attempt();
    const open = () => server.openControlStream(this.#agentId, this.#instanceId, this.#position, attempt.signal);
    try {
      const stream = await within(clock, deadlineMs, open, false);
      if (stream.status !== 200 || !stream.contentType.startsWith('text/event-stream')) {
        this.#refused(stream.status);
        return;
      }
      this.#connected = true;
      for await (const { id, event, data } of serverSentEvents(this.#watched(stream.chunks, attempt))) {
        this.#failures = 0;
        if (id !== '') this.#position = id;
        this.#hand(event, parseJson(data));
      }
    } finally {
      attempt.abort();
    }
  }

  async #poll(): Promise<void> {
    const { clock, server, deadlineMs } = this.#tools;
    const attempt = this.#attempt();
    const ask = () => server.pollControl(this.#agentId, this.#instanceId, this.#position, POLL_WAIT_MS, attempt.signal);
    this.#connected = true;
    try {
      const answer = await within(clock, POLL_WAIT_MS + deadlineMs, ask, false);
      if (answer.status !== 200 && answer.status !== 204) {
        this.#refused(answer.status);
        return;
      }
      this.#failures = 0;
      if (answer.status === 200) this.#takeMessages(parseJson(answer.text));
    } finally {
      attempt.abort();
    }
  }

  #takeMessages(answer: unknown): void {
    if (!isRecord(answer) || !Array.isArray(answer.items)) throw new Error('nonsense');
    this.#hand('connection', answer.connection);
    for (const item of answer.items)
      if (isRecord(item)) this.#hand(typeof item.kind === 'string' ? item.kind : 'message', item.value);
    if (typeof answer.next === 'string') this.#position = answer.next;
  }

  #hand(event: string, message: unknown): void {
    if (message !== undefined) this.#tools.receive(event, message);
  }

  #refused(status: number): void {
    if (status === 401) this.#tools.keyRefused();
    if (NOT_ALLOWED.has(status)) {
      this.#tools.warn(`this key may not receive orders (${status}); decisions are still requested`);
      this.#mode = 'none';
      return;
    }
    // A 200 that is not a stream comes from a proxy that does not support streams.
    if (NOT_OFFERED.has(status) || status === 200) this.#mode = this.#mode === 'stream' ? 'poll' : 'none';
    else this.#failures++;
  }

  /** Controller of one attempt; aborted with the feed. */
  #attempt(): AbortController {
    const attempt = new AbortController();
    const { signal } = this.#closing;
    if (signal.aborted) attempt.abort();
    const stop = () => attempt.abort();
    signal.addEventListener('abort', stop, { once: true });
    attempt.signal.addEventListener('abort', () => signal.removeEventListener('abort', stop), { once: true });
    return attempt;
  }

  async *#watched(chunks: AsyncIterable<string>, attempt: AbortController): AsyncGenerator<string> {
    const watch = () => this.#tools.clock.timer(() => attempt.abort(), MAX_SILENCE_MS);
    let cancel = watch();
    try {
      for await (const chunk of chunks) {
        cancel();
        cancel = watch();
        yield chunk;
      }
    } finally {
      cancel();
    }
  }

  #pause(): Promise<void> {
    if (this.#closing.signal.aborted || this.#mode === 'none') return Promise.resolve();
    const { clock, random } = this.#tools;
    const ms = this.#failures === 0 ? 0 : backoffMs(this.#failures, random, BACKOFF_BASE_MS, MAX_BACKOFF_MS);
    return new Promise((resolve) => {
      const done = () => {
        cancel();
        this.#closing.signal.removeEventListener('abort', done);
        resolve();
      };
      // Wait at least briefly: a server that closes every stream at once must not cause a busy loop.
      const cancel = clock.timer(done, Math.max(ms, 50));
      this.#closing.signal.addEventListener('abort', done, { once: true });
    });
  }
}
