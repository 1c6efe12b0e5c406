import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { LatencySummary } from './statistics.ts';

/** Order for the load generator. */
export interface LoadOrder {
  readonly url: string;
  /** Used in turn, one per request. Several tenants have several keys. */
  readonly keys: readonly string[];
  readonly batchSize: number;
  /** Requests in flight (closed loop), or their limit (with `eventsPerSecond`). */
  readonly concurrency: number;
  /** Open loop at this rate. Without it, as fast as responses arrive. */
  readonly eventsPerSecond?: number;
  readonly durationMs: number;
  readonly agents: number;
  /** Share of events that are errors. */
  readonly errorShare: number;
  /** Give every event a client-made id, and repeat a failed request with the same body until it is accepted. */
  readonly reliable: boolean;
  /** Every n-th request carries one marker event (payload.data.marker = serial) to measure trigger latency; 0: none. */
  readonly markEvery: number;
  /**
   * Number of requests without a marker to prepare in advance and send in turn. Not with `reliable`, because ids would
   * repeat.
   */
  readonly premade?: number;
  readonly seed: number;
  /** Prefix of agents, sessions and ids, so that runs do not collide. */
  readonly label: string;
}

export interface LoadReport {
  readonly seconds: number;
  readonly requests: number;
  readonly acceptedEvents: number;
  /** Responses by status code; 0 counts requests without a response. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Of accepted requests. */
  readonly latency: LatencySummary;
  /** Of rejected requests, 429 or 503. */
  readonly refusedLatency: LatencySummary;
  /** Longest time without an accepted request, ms. */
  readonly longestStallMs: number;
  readonly acceptedErrors: number;
  /** With `reliable`: the acknowledged ids. */
  readonly acceptedIds?: readonly string[];
  /** With `reliable`: the ids of the acknowledged marker events. */
  readonly acceptedMarkerIds?: readonly string[];
  /** With `reliable`: serial -> `monotonicMs` when the accepted request was sent, after all rejections. */
  readonly acceptedMarkersSentAt?: Readonly<Record<string, number>>;
  /** With `reliable`: what was acknowledged for each agent. */
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

export interface RunningLoad {
  readonly pid: number;
  readonly report: Promise<LoadReport>;
  /** Lets requests in flight finish and ends the run early. */
  stop(): void;
}

/** Starts the load generator in a separate process. */
export function generateLoad(order: LoadOrder): RunningLoad {
  const child = fork(fileURLToPath(new URL('./load-generator.ts', import.meta.url)), {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const report = new Promise<LoadReport>((resolve, reject) => {
    child.once('message', (message: FromGenerator) => {
      if (message.kind === 'report') resolve(message.report);
      else reject(new Error(`the load generator failed: ${message.message}`));
    });
    child.once('exit', (code) => reject(new Error(`the load generator ended without a report (exit ${code})`)));
  });
  child.send({ kind: 'start', order });
  return {
    pid: child.pid ?? 0,
    report,
    stop: () => {
      if (child.connected) child.send({ kind: 'stop' });
    },
  };
}
