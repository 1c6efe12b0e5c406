import type { PoolClient } from 'pg';
import Cursor from 'pg-cursor';
import { abandon } from './pg-internals.ts';

/** Methods that `pg` calls on everything it runs, and that `pg-cursor` implements. */
interface Answers {
  handleReadyForQuery(): void;
  handleError(error: Error): void;
}

const inherited = Cursor.prototype as unknown as Answers;

/**
 * A cursor that ends like every other query of `pg`. The cursor of `pg-cursor` never calls back, so its timeout would
 * fire after it was answered, and a trace would not end. It also waits for a lost server to confirm that it was closed.
 */
export class AnsweredCursor<Row> extends Cursor<Row> implements Answers {
  /** Wrapped by the query timeout and by tracing. */
  callback: (error: Error | null) => void = () => undefined;
  private readonly failure = Promise.withResolvers<void>();
  private failed = false;

  handleReadyForQuery(): void {
    inherited.handleReadyForQuery.call(this);
    this.callback(null);
  }

  handleError(error: Error): void {
    this.failed = true;
    this.failure.resolve();
    inherited.handleError.call(this, error);
    this.callback(error);
  }

  /** The portal of a failed query ends with its transaction or connection. */
  override close(): Promise<void>;
  override close(callback: (error: Error) => void): undefined;
  override close(callback?: (error: Error) => void): Promise<void> | undefined {
    if (callback !== undefined) return super.close(callback);
    return this.failed ? this.failure.promise : Promise.race([super.close(), this.failure.promise]);
  }
}

/** Callback of `pg` for the end of a statement. */
type Ended = (error: Error | null, result?: unknown) => void;

/**
 * Sets a timeout for every statement of a connection, and never reuses a connection that timed out: on a half-open
 * network path every later statement would queue behind the lost one.
 *
 * Replaces `query_timeout` and the promises of `pg`. Both assign a function literal to a property (`query.callback = ()
 * => ...`), which V8 treats as a method and allocates in the old generation. There it keeps the statement and all its
 * rows alive until a full collection, and every minor collection copies them.
 */
export function answerWithin(deadlineMs: number): (client: PoolClient) => void {
  return (client) => {
    const query = client.query.bind(client) as (...args: unknown[]) => unknown;

    /** Ends a statement once; an abandoned connection reports each of its statements again. */
    const within = (ended: Ended, lose?: (error: Error) => void): Ended => {
      let awaited = true;
      const end: Ended = (error, result) => {
        if (!awaited) return;
        awaited = false;
        clearTimeout(deadline);
        ended(error, result);
      };
      const deadline = setTimeout(() => {
        abandon(client);
        (lose ?? end)(new Error('Query read timeout'));
      }, deadlineMs);
      return end;
    };

    const bounded = (...args: unknown[]): unknown => {
      const [statement] = args;
      const last = args.at(-1);
      if (statement instanceof AnsweredCursor) {
        statement.callback = within(statement.callback, (error) => statement.handleError(error));
        return query(statement);
      }
      if (isEnded(last)) return query(...args.slice(0, -1), within(last));
      return new Promise((resolve, reject) => {
        const ended = within((error, result) => (error ? reject(error) : resolve(result)));
        query(...args, ended);
      });
    };
    client.query = bounded as typeof client.query;
  };
}

function isEnded(value: unknown): value is Ended {
  return typeof value === 'function';
}
