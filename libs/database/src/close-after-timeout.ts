import type { PoolClient } from 'pg';

/** What `pg` and its pool use among themselves. */
interface Internals {
  readonly connection: { readonly stream: { destroy(): void } };
  /** The pool throws a released client away if this is false. */
  _queryable: boolean;
}

/**
 * Never uses a connection again that did not answer in time. `pg` only gives the caller an error and keeps the socket,
 * so after a half-open network path every later query would queue up behind the lost one.
 */
export function closeAfterTimeout(client: PoolClient): void {
  const query = client.query.bind(client) as (...args: unknown[]) => unknown;
  const guarded = (...args: unknown[]): unknown => {
    const answer = query(...args);
    if (answer instanceof Promise) answer.catch((error: unknown) => closeIfTimeout(client, error));
    return answer;
  };
  client.query = guarded as typeof client.query;
}

function closeIfTimeout(client: PoolClient, error: unknown): void {
  if (!(error instanceof Error) || error.message !== 'Query read timeout') return;
  const internals = client as unknown as Internals;
  // At once: the caller may release the client, and another take it, before the socket has closed.
  internals._queryable = false;
  internals.connection.stream.destroy();
}
