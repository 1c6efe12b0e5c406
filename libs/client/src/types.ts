import type { Operation, OperationAnswer, OperationFrame, OperationInput, Operations } from '@agentlens/operations';

type Id = keyof Operations;

/** Where each operation is found: `GET /api/runs/:id`. */
export type Routes = {
  readonly [I in Id]: Operations[I] extends { readonly frames: unknown }
    ? `STREAM ${Operations[I]['path']}`
    : `${Uppercase<Operations[I]['method']>} ${Operations[I]['path']}`;
};

export interface ClientOptions {
  /** Where the platform answers, with a path prefix where there is one. Default: the origin of the page. */
  readonly baseUrl?: string;
  /** The API key; a function is asked before each request. Without a key the browser's cookie is the session. */
  readonly key?: string | (() => string | undefined);
  /** Default 10 000 ms, from the request to the last byte of its answer. Streams have none. */
  readonly timeoutMs?: number;
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: the global one. */
  readonly fetch?: typeof globalThis.fetch;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** Instead of the client's. */
  readonly timeoutMs?: number;
  /** The same key makes a repeated request one. */
  readonly idempotencyKey?: string;
  /** The version the change was made from; 412 where it is not the current one. */
  readonly ifMatch?: string | number;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface StreamOptions {
  /** Ends the iteration. */
  readonly signal?: AbortSignal;
  /** Resume after this frame. */
  readonly lastEventId?: string;
  /** Reconnect when nothing arrived for so long; default 75 000 ms, the platform sends a heartbeat every 30 s at least. */
  readonly silenceMs?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An argument that may be left out where nothing in it is required. */
type Argument<Input> = Record<never, never> extends Input ? [input?: Input] : [input: Input];

type Method<O extends Operation> = O extends { readonly frames: unknown }
  ? (...input: Argument<OperationInput<O> & StreamOptions>) => AsyncGenerator<OperationFrame<O>>
  : (...input: Argument<OperationInput<O> & CallOptions>) => Promise<OperationAnswer<O>>;

/** A method for every operation of the platform, by its id. */
export type Client = { readonly [I in Id]: Method<Operations[I]> };
