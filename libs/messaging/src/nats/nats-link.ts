import type { NatsConnection } from '@nats-io/transport-node';
import type { BusLogger } from '../event-bus.ts';
import { InFlight } from '../util/in-flight.ts';
import { backOff } from '../util/retry.ts';

/** Silence of all streams that justifies a move. A lost leader is replaced within 4 to 9 s. */
const SILENCE_MS = 2_000;
/**
 * Pause after the 1st, 2nd, … move, ms. The first move may lead to the very server that is cut off. While a cluster
 * elects a leader every server is silent, and moving around would only prolong the wait.
 */
const MOVE_AGAIN_MS = [3_000, 6_000, 12_000];

/** The NATS connection and its state. Calls that must not wait for an unreachable broker check `connected` first. */
export class NatsLink {
  connected = true;
  private answeredAt = performance.now();
  private movedAt = Number.NEGATIVE_INFINITY;
  /** Number of moves since a stream last answered. */
  private moves = 0;
  /** One callback per pending publish. */
  private readonly lost = new InFlight<() => void>();
  private readonly reconnected = new Set<() => void>();

  /** @param servers number of addresses the connection knows */
  constructor(
    readonly connection: NatsConnection,
    private readonly logger: BusLogger,
    private readonly servers = 1,
  ) {
    void this.follow();
  }

  /** Call when a stream answered. */
  answered(): void {
    this.answeredAt = performance.now();
    this.moves = 0;
  }

  /**
   * Call when a stream did not answer. A server that is cut off from its cluster still talks to its clients but cannot
   * store anything, so the link moves to another server.
   */
  unanswered(): void {
    const now = performance.now();
    if (this.servers < 2 || !this.connected) return;
    if (now - this.answeredAt < SILENCE_MS || now - this.movedAt < backOff(this.moves, MOVE_AGAIN_MS)) return;
    this.movedAt = now;
    this.moves += 1;
    this.logger.warn(
      { server: this.connection.getServer() },
      'no stream answers through this server, moving to another',
    );
    void this.connection.reconnect();
  }

  /** Registers a callback for each lost connection; returns a function that removes it. */
  onLost(callback: () => void): () => void {
    const place = this.lost.add(callback);
    return () => this.lost.delete(place);
  }

  /** Registers a callback for each reconnection; returns a function that removes it. */
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
          for (const callback of this.lost) callback();
          break;
        case 'reconnect':
          this.connected = true;
          this.logger.info({ server: status.server }, 'reconnected to NATS');
          for (const callback of this.reconnected) callback();
          break;
        case 'error':
          this.logger.error({ err: status.error }, 'NATS rejected an operation');
          break;
        default:
      }
    }
    this.connected = false;
  }
}
