import type { PoolClient } from 'pg';
import Cursor from 'pg-cursor';
import { abandon } from './pg-internals.ts';

/** What `pg` calls on whatever it runs, and `pg-cursor` answers. */
interface Answers {
  handleReadyForQuery(): void;
  handleError(error: Error): void;
}

const inherited = Cursor.prototype as unknown as Answers;

/**
 * A cursor that ends as every other query of `pg` does. One of `pg-cursor` never calls back: its deadline would pass after it
 * was answered, and a trace would not end. And it waits for a server that is gone to confirm that nothing more is wanted.
 */
export class AnsweredCursor<Row> extends Cursor<Row> implements Answers {
  /** Wrapped by whoever sets a deadline for it, and by whoever traces it. */
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

  /** The portal of a failed query goes with its transaction, or its connection. */
  override close(): Promise<void>;
  override close(callback: (error: Error) => void): undefined;
  override close(callback?: (error: Error) => void): Promise<void> | undefined {
    if (callback !== undefined) return super.close(callback);
    return this.failed ? this.failure.promise : Promise.race([super.close(), this.failure.promise]);
  }
}

/** What `pg` calls when a statement has ended. */
type Ended = (error: Error | null, result?: unknown) => void;

/**
 * Gives every statement of a connection so long to be answered, and never uses a connection again that did not answer:
 * after a half-open network path every later statement would queue up behind the lost one.
 *
 * It stands in for `query_timeout` and for the promises of `pg`. Both assign a function literal to a property
 * (`query.callback = () => ...`), which V8 takes for a method and allocates in the old generation. From there it holds the
 * statement and all its rows until a full collection, and every scavenge until then copies them.
 */
export function answerWithin(deadlineMs: number): (client: PoolClient) => void {
  return (client) => {
    const query = client.query.bind(client) as (...args: unknown[]) => unknown;

    /** Told once: an abandoned connection tells of each of its statements again. */
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
