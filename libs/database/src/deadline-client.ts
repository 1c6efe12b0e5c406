import pg from 'pg';

interface Sockets {
  readonly connection: { readonly stream: { destroy(): void } };
}

/**
 * A connection that did not answer in time is never used again. `pg` only gives the caller an error and keeps the
 * socket, so after a half-open network path every later query would queue up behind the lost one.
 */
export class DeadlineClient extends pg.Client {
  // biome-ignore lint/suspicious/noExplicitAny: the overloads of pg.Client.query cannot be restated
  override query(...args: any[]): any {
    // @ts-expect-error the arguments are handed on exactly as they came
    const answer: unknown = super.query(...args);
    if (answer instanceof Promise) answer.catch((error: unknown) => this.#closeAfterTimeout(error));
    return answer;
  }

  #closeAfterTimeout(error: unknown): void {
    if (!(error instanceof Error) || error.message !== 'Query read timeout') return;
    (this as unknown as Sockets).connection.stream.destroy();
  }
}
