import type { LatencySummary } from './latencies.ts';

/** What the load generator is told to do. */
export interface LoadOrder {
  readonly url: string;
  /** One is used per request, in turn; several tenants are several keys. */
  readonly keys: readonly string[];
  readonly batchSize: number;
  /** Requests in flight (closed loop), or the cap on them (with `eventsPerSecond`). */
  readonly concurrency: number;
  /** Open loop at this rate; without it as fast as answers come. */
  readonly eventsPerSecond?: number;
  readonly durationMs: number;
  readonly agents: number;
  /** Share of events that are errors. */
  readonly errorShare: number;
  /** Give every event a client-made id, and repeat a failed request with the same body until it is accepted. */
  readonly reliable: boolean;
  /** Every n-th request carries one marker event (payload.data.marker = serial) to measure trigger latency; 0: none. */
  readonly markEvery: number;
  /** So many requests without a marker are made before the first is sent, and sent in turn; not with `reliable`, whose ids would repeat. */
  readonly premade?: number;
  readonly seed: number;
  /** Prefix of agents, sessions and ids, so that runs do not meet. */
  readonly label: string;
}

export interface LoadReport {
  readonly seconds: number;
  readonly requests: number;
  readonly acceptedEvents: number;
  /** Answers by status code; 0 counts requests without an answer. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Of requests that were accepted. */
  readonly latency: LatencySummary;
  /** Of requests that were refused, 429 or 503. */
  readonly refusedLatency: LatencySummary;
  /** Longest time without an accepted request, ms. */
  readonly longestStallMs: number;
  readonly acceptedErrors: number;
  /** Present with `reliable`: the ids that were acknowledged. */
  readonly acceptedIds?: readonly string[];
  /** Present with `reliable`: the ids of the acknowledged marker events. */
  readonly acceptedMarkerIds?: readonly string[];
  /** Present with `reliable`: serial -> `monotonicMs` when the request that was accepted was sent, past all refusals. */
  readonly acceptedMarkersSentAt?: Readonly<Record<string, number>>;
  /** Present with `reliable`: what was acknowledged of each agent. */
  readonly acceptedByAgent?: Readonly<Record<string, AcceptedOfAgent>>;
  /** Accepted markers: serial -> `monotonicMs` when the request was first sent. */
  readonly markers: Readonly<Record<string, number>>;
  readonly cpuMicros: number;
}

export interface AcceptedOfAgent {
  readonly events: number;
  readonly errors: number;
}

export type FromGenerator =
  | { readonly kind: 'report'; readonly report: LoadReport }
  | { readonly kind: 'failed'; readonly message: string };
export type ToGenerator = { readonly kind: 'start'; readonly order: LoadOrder } | { readonly kind: 'stop' };
