import type { NatsConnection } from '@nats-io/transport-node';
import type { BusLogger } from '../logger.ts';

/** The connection with its state: what must not wait for a broker that is away asks `connected` first. */
export class NatsLink {
  connected = true;
  private readonly reconnected = new Set<() => void>();

  constructor(
    readonly connection: NatsConnection,
    private readonly logger: BusLogger,
  ) {
    void this.follow();
  }

  /** Calls back after every reconnection until the returned function is called. */
  onReconnect(callback: () => void): () => void {
    this.reconnected.add(callback);
    return () => this.reconnected.delete(callback);
  }

  private async follow(): Promise<void> {
    for await (const status of this.connection.status()) {
      switch (status.type) {
        case 'disconnect':
          this.connected = false;
          this.logger.warn({ server: status.server }, 'connection to NATS lost, reconnecting');
          break;
        case 'reconnect':
          this.connected = true;
          this.logger.info({ server: status.server }, 'connected to NATS again');
          for (const callback of this.reconnected) callback();
          break;
        case 'error':
          this.logger.error({ err: status.error }, 'NATS refused an operation');
          break;
        default:
      }
    }
    this.connected = false;
  }
}
