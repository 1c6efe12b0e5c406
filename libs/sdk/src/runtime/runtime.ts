/** Everything the SDK needs of the machine it runs on, so that it runs on any and can be tested on none. */
export interface Runtime {
  readonly clock: RuntimeClock;
  readonly http: Http;
  /** A time-ordered id for something that happens now. */
  readonly newId: (nowMs: number) => string;
  /** At least 0, less than 1; spreads retries. */
  readonly random: () => number;
  /** Whether connections may stay open between requests: false where work ends with the request that began it. */
  readonly background: boolean;
  /** Calls when the process ends, with no time left for anything asynchronous. Answers how to cancel it. */
  readonly atExit?: (run: () => void) => () => void;
}

export interface RuntimeClock {
  /** Unix time, ms. May jump. */
  now(): number;
  /** Ms since some moment; never goes back. */
  elapsed(): number;
  /** Answers how to cancel it. A timer that is not `holding` never keeps a process alive. */
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

/** No answer the SDK reads is larger; what is cut is not valid JSON and is treated as nonsense. */
export const MOST_ANSWER_CHARS = 4 * 1024 * 1024;
