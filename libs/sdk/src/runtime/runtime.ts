/** Everything the SDK needs from its environment, so that it runs on any platform and in tests without one. */
export interface Runtime {
  readonly clock: RuntimeClock;
  readonly http: Http;
  /** A time-ordered id for the given time. */
  readonly newId: (nowMs: number) => string;
  /** At least 0, less than 1; spreads retries. */
  readonly random: () => number;
  /** Whether connections may stay open between requests; false if work ends with the request that started it. */
  readonly background: boolean;
  /** Calls `run` when the process exits, with no time for asynchronous work. Returns a function that cancels it. */
  readonly atExit?: (run: () => void) => () => void;
}

export interface RuntimeClock {
  /** Unix time, ms. May jump. */
  now(): number;
  /** Monotonic time in ms from an arbitrary start. */
  elapsed(): number;
  /** Returns a function that cancels it. A timer that is not `holding` never keeps a process alive. */
  timer(run: () => void, ms: number, holding?: boolean): () => void;
}

export interface HttpCall {
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal: AbortSignal;
}

export interface HttpAnswer {
  readonly status: number;
  readonly text: string;
  header(name: string): string | undefined;
}

export interface HttpStream {
  readonly status: number;
  readonly contentType: string;
  /** Ends when the server or the signal ends it. */
  readonly chunks: AsyncIterable<string>;
}

export interface Http {
  call(call: HttpCall): Promise<HttpAnswer>;
  /** Must not keep a process alive while it waits for the next chunk. */
  stream(call: HttpCall): Promise<HttpStream>;
  close(): Promise<void>;
}

/** The part of AsyncLocalStorage that is used. */
export interface ContextStore {
  run<R>(value: object, body: () => R): R;
  getStore(): object | undefined;
}

/** The SDK reads no larger response; a truncated one is not valid JSON and is treated as malformed. */
export const MAX_ANSWER_CHARS = 4 * 1024 * 1024;
