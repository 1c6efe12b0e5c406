import type { BusLogger } from '../logger.ts';

export interface NatsBusOptions {
  /** `nats://[user:password@]host:port`, one or several. */
  readonly servers: string | readonly string[];
  /** Shown by the server for this connection, so that an operator knows whose it is. */
  readonly name: string;
  readonly user?: string;
  readonly password?: string;
  readonly logger?: BusLogger;
  /** How long the first connection may take; afterwards it reconnects for ever. Default 10,000 ms. */
  readonly connectTimeoutMs?: number;
  readonly publishTimeoutMs?: number;
  /** Publishes that may wait for their acknowledgement at once; beyond, publishing is refused. */
  readonly maxInFlight?: number;
  /** Makes the streams of the catalog when connecting. Default true. */
  readonly applyStreams?: boolean;
  readonly replicas?: number;
  readonly backOffMs?: readonly number[];
}
