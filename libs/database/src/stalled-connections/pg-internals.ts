import type { ClientBase } from 'pg';

/** Internal fields of `pg` and its pool. */
interface Internals {
  readonly processID: number | null;
  readonly connection: { readonly stream: { readonly bytesRead: number; destroy(): void } };
  /** If false, the pool discards the client when it is released. */
  _queryable: boolean;
}

/** Process id of the server process for this connection; null until it is known. */
export function backendPid(client: ClientBase): number | null {
  return internals(client).processID;
}

export function bytesRead(client: ClientBase): number {
  return internals(client).connection.stream.bytesRead;
}

/** Closes a connection without a terminate message. Pending statements fail with "Connection terminated". */
export function abandon(client: ClientBase): void {
  const own = internals(client);
  // Set immediately, because the client may be released and reused before the socket has closed.
  own._queryable = false;
  own.connection.stream.destroy();
}

function internals(client: ClientBase): Internals {
  return client as unknown as Internals;
}
