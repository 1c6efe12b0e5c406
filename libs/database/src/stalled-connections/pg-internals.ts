import type { ClientBase } from 'pg';

/** What `pg` and its pool use among themselves. */
interface Internals {
  readonly processID: number | null;
  readonly connection: { readonly stream: { readonly bytesRead: number; destroy(): void } };
  /** The pool throws a released client away if this is false. */
  _queryable: boolean;
}

/** The server's process that serves this connection; null before it is told. */
export function backendPid(client: ClientBase): number | null {
  return internals(client).processID;
}

export function bytesRead(client: ClientBase): number {
  return internals(client).connection.stream.bytesRead;
}

/** Ends a connection without a goodbye, which nobody might hear: what waits on it fails with "Connection terminated". */
export function abandon(client: ClientBase): void {
  const own = internals(client);
  // At once: the caller may release the client, and another take it, before the socket has closed.
  own._queryable = false;
  own.connection.stream.destroy();
}

function internals(client: ClientBase): Internals {
  return client as unknown as Internals;
}
