import type { Operation, OperationAnswer, OperationFrame, OperationInput, Operations } from '@agentlens/operations';

type Id = keyof Operations;

/** Method and path of each operation: `GET /api/runs/:id`. */
export type Routes = {
  readonly [I in Id]: Operations[I] extends { readonly frames: unknown }
    ? `STREAM ${Operations[I]['path']}`
    : `${Uppercase<Operations[I]['method']>} ${Operations[I]['path']}`;
};

export interface ClientOptions {
  /** Base URL of the platform, with an optional path prefix. Default: the origin of the page. */
  readonly baseUrl?: string;
  /**
   * The API key, or a function that returns it for each request. Without a key, the browser's session cookie is used.
   */
  readonly key?: string | (() => string | undefined);
  /** Timeout from the request to the last byte of the answer. Default 10,000 ms. Streams have none. */
  readonly timeoutMs?: number;
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** Overrides the client's timeout. */
  readonly timeoutMs?: number;
  /** Requests with the same key are executed once. */
  readonly idempotencyKey?: string;
  /** Version that the change is based on; the platform answers 412 if it is not the current one. */
  readonly ifMatch?: string | number;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface StreamOptions {
  /** Ends the iteration. */
  readonly signal?: AbortSignal;
  /** Resume after this frame. */
  readonly lastEventId?: string;
  /** Reconnect after this time without data. Default 75,000 ms; the platform sends a heartbeat at least every 30 s. */
  readonly silenceMs?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Makes the argument optional if nothing in it is required. */
type Argument<Input> = Record<never, never> extends Input ? [input?: Input] : [input: Input];

type Method<O extends Operation> = O extends { readonly frames: unknown }
  ? (...input: Argument<OperationInput<O> & StreamOptions>) => AsyncGenerator<OperationFrame<O>>
  : (...input: Argument<OperationInput<O> & CallOptions>) => Promise<OperationAnswer<O>>;

/** A method for every operation of the platform, by its id. */
export type Client = { readonly [I in Id]: Method<Operations[I]> };
