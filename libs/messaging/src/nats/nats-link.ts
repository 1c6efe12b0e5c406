import type { NatsConnection } from '@nats-io/transport-node';
import type { BusLogger } from '../event-bus.ts';
import { InFlight } from '../util/in-flight.ts';
import { backOff } from '../util/retry.ts';

/** So long without an answer from any stream: no hiccup. A leader that is gone is replaced after 4 to 9 s. */
const SILENCE_MS = 2_000;
/**
 * The pause after the 1st, 2nd, ... move, ms. The first may lead to the very server that is cut off; but in a cluster that is
 * electing every server is silent, and moving about would only add to the wait.
 */
const MOVE_AGAIN_MS = [3_000, 6_000, 12_000];

/** The connection with its state: what must not wait for a broker that is away asks `connected` first. */
export class NatsLink {
  connected = true;
  private answeredAt = performance.now();
  private movedAt = Number.NEGATIVE_INFINITY;
  /** Since a stream answered. */
  private moves = 0;
  /** One of each publish that waits. */
  private readonly lost = new InFlight<() => void>();
  private readonly reconnected = new Set<() => void>();

  /** `servers`: how many addresses the connection knows. */
  constructor(
    readonly connection: NatsConnection,
    private readonly logger: BusLogger,
    private readonly servers = 1,
  ) {
    void this.follow();
  }

  /** To be told when a stream answered. */
  answered(): void {
    this.answeredAt = performance.now();
    this.moves = 0;
  }

  /**
   * To be told when a stream did not answer. A server that is cut off from its cluster talks on to its clients, and can
   * keep nothing: another one is tried.
   */
  unanswered(): void {
    const now = performance.now();
    if (this.servers < 2 || !this.connected) return;
    if (now - this.answeredAt < SILENCE_MS || now - this.movedAt < backOff(this.moves, MOVE_AGAIN_MS)) return;
    this.movedAt = now;
    this.moves += 1;
    this.logger.warn({ server: this.connection.getServer() }, 'no stream answers through this server, trying another');
    void this.connection.reconnect();
  }

  /** Calls back whenever the connection is lost, until the returned function is called. */
  onLost(callback: () => void): () => void {
    const place = this.lost.add(callback);
    return () => this.lost.delete(place);
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
          for (const callback of this.lost) callback();
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
