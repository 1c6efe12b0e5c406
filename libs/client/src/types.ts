import type { Operation, OperationAnswer, OperationFrame, OperationInput, Operations } from '@agentlens/operations';

type Id = keyof Operations;

/** Route of each operation: `GET /api/runs/:id`. */
export type Routes = {
  readonly [I in Id]: Operations[I] extends { readonly frames: unknown }
    ? `STREAM ${Operations[I]['path']}`
    : `${Uppercase<Operations[I]['method']>} ${Operations[I]['path']}`;
};

export interface ClientOptions {
  /** Address of the platform, with its path prefix if any. Default: the page's origin. */
  readonly baseUrl?: string;
  /** API key, or a function called before each request. Without a key the browser's cookie is used. */
  readonly key?: string | (() => string | undefined);
  /** Timeout from request to the last byte, default 10 000 ms. Streams have none. */
  readonly timeoutMs?: number;
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: the global one. */
  readonly fetch?: typeof globalThis.fetch;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** Overrides the client's timeout. */
  readonly timeoutMs?: number;
  /** Requests with the same key are executed once. */
  readonly idempotencyKey?: string;
  /** Version the change is based on; 412 if it is not current. */
  readonly ifMatch?: string | number;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface StreamOptions {
  /** Ends the iteration. */
  readonly signal?: AbortSignal;
  /** Resumes after this frame. */
  readonly lastEventId?: string;
  /** Reconnects after this silence; default 75 000 ms. The platform sends a heartbeat at least every 30 s. */
  readonly silenceMs?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An argument that is optional if nothing in it is required. */
type Argument<Input> = Record<never, never> extends Input ? [input?: Input] : [input: Input];

type Method<O extends Operation> = O extends { readonly frames: unknown }
  ? (...input: Argument<OperationInput<O> & StreamOptions>) => AsyncGenerator<OperationFrame<O>>
  : (...input: Argument<OperationInput<O> & CallOptions>) => Promise<OperationAnswer<O>>;

/** A method for every operation, by id. */
export type Client = { readonly [I in Id]: Method<Operations[I]> };
