import Cursor from 'pg-cursor';

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
