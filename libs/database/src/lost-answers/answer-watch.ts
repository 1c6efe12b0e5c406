import type { PoolClient } from 'pg';
import { abandon, backendPid, bytesRead } from './pg-internals.ts';
import type { ServerInquiry, ServerView } from './server-inquiry.ts';

/** An answer that has not come for so long makes us ask. */
const SILENT_MS = 1_500;
/** An answer on its way has arrived by then. */
const LOOK_AGAIN_MS = 500;
/** So many inquiries in a row without an answer: the server, or the way to it, is gone. */
const FAILED_INQUIRIES = 2;
const TOO_MANY_CONNECTIONS = '53300';

interface Awaited {
  /** When the statement was sent or the last byte came, monotonic ms. */
  silentSince: number;
  bytesRead: number;
  /** Since when the server waits for us instead of working, by its own clock, if the last inquiry found it so. */
  waitsSince?: string;
}

/**
 * Finds answers that will never come. A connection can die without a word, and a statement may work for seconds: only
 * the server can tell one from the other, asked over another connection. Where it works, the wait goes on; where it has
 * ended or itself waits for us, the answer or the question was lost, and the connection is abandoned at once instead of
 * at its deadline.
 */
export class AnswerWatch {
  private readonly inquiry: Pick<ServerInquiry, 'backends' | 'end'>;
  private readonly clients = new Map<PoolClient, Awaited | undefined>();
  private timer: NodeJS.Timeout | undefined;
  private failedInquiries = 0;

  constructor(inquiry: Pick<ServerInquiry, 'backends' | 'end'>) {
    this.inquiry = inquiry;
  }

  /** Watches a connection of the pool from its first statement to its end. */
  watch(client: PoolClient): void {
    this.clients.set(client, undefined);
    const query = client.query.bind(client) as (...args: unknown[]) => unknown;
    const watched = (...args: unknown[]): unknown => {
      if (this.clients.get(client) === undefined) this.await(client);
      return query(...args);
    };
    client.query = watched as typeof client.query;
    client.on('drain', () => {
      if (this.clients.has(client)) this.clients.set(client, undefined);
    });
    client.once('end', () => this.clients.delete(client));
  }

  private await(client: PoolClient): void {
    if (!this.clients.has(client)) return;
    this.clients.set(client, { silentSince: performance.now(), bytesRead: bytesRead(client) });
    this.checkIn(SILENT_MS);
  }

  private checkIn(ms: number): void {
    // One timer for all, and none while nothing is asked.
    this.timer ??= setTimeout(() => void this.check(), ms).unref();
  }

  private async check(): Promise<void> {
    const silent = this.silent();
    if (silent.size > 0) await this.inquire(silent);
    else this.failedInquiries = 0;
    this.timer = undefined;
    const now = performance.now();
    const next = [...this.clients.values()].flatMap((awaited) =>
      awaited === undefined ? [] : [awaited.silentSince + SILENT_MS - now],
    );
    if (next.length > 0) this.checkIn(Math.max(LOOK_AGAIN_MS, Math.min(...next)));
  }

  /** Connections whose answer is overdue, by the server's process id. */
  private silent(): ReadonlyMap<number, readonly [PoolClient, Awaited]> {
    const silent = new Map<number, readonly [PoolClient, Awaited]>();
    for (const [client, awaited] of this.clients) {
      const pid = backendPid(client);
      if (awaited !== undefined && pid !== null && this.isSilent(client, awaited)) silent.set(pid, [client, awaited]);
    }
    return silent;
  }

  private isSilent(client: PoolClient, awaited: Awaited): boolean {
    if (this.clients.get(client) !== awaited) return false;
    const now = performance.now();
    const read = bytesRead(client);
    if (read !== awaited.bytesRead) {
      delete awaited.waitsSince;
      awaited.bytesRead = read;
      awaited.silentSince = now;
    }
    return now - awaited.silentSince >= SILENT_MS;
  }

  private async inquire(silent: ReadonlyMap<number, readonly [PoolClient, Awaited]>): Promise<void> {
    let view: ServerView;
    try {
      view = await this.inquiry.backends([...silent.keys()]);
      this.failedInquiries = 0;
    } catch (error) {
      // A server that says so is there.
      if (isTooManyConnections(error)) return;
      this.failedInquiries += 1;
      if (this.failedInquiries >= FAILED_INQUIRIES) await this.giveUp([...silent.values()].map(([client]) => client));
      return;
    }
    const { backends } = view;
    if (backends === undefined) return;
    const lost: PoolClient[] = [];
    const holding = new Map<number, string>();
    for (const [pid, [client, awaited]] of silent) {
      // Its answer may have come while we asked.
      if (!this.isSilent(client, awaited)) continue;
      const backend = backends.get(pid);
      if (backend === undefined) {
        lost.push(client);
      } else if (backend.waitsSince !== undefined && backend.waitsSince === awaited.waitsSince) {
        lost.push(client);
        holding.set(pid, backend.waitsSince);
      } else if (backend.waitsSince === undefined) {
        delete awaited.waitsSince;
      } else {
        awaited.waitsSince = backend.waitsSince;
      }
    }
    if (lost.length === 0) return;
    // First the server lets go of what they lock: whoever is told of the loss tries again at once.
    if (holding.size > 0) await this.inquiry.end(holding).catch(() => undefined);
    await this.giveUp(lost);
  }

  /**
   * Idle connections go too: they went the same way, and each would cost its next user the same wait. They go first, so
   * that whoever is told of the loss, and tries again, is not given one of them.
   */
  private async giveUp(lost: readonly PoolClient[]): Promise<void> {
    const idle = [...this.clients].flatMap(([client, awaited]) => (awaited === undefined ? [client] : []));
    await Promise.all(idle.map((client) => this.abandon(client)));
    await Promise.all(lost.map((client) => this.abandon(client)));
  }

  private async abandon(client: PoolClient): Promise<void> {
    if (!this.clients.delete(client)) return;
    const ended = new Promise((resolve) => client.once('end', resolve));
    abandon(client);
    await ended;
  }
}

function isTooManyConnections(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === TOO_MANY_CONNECTIONS;
}
