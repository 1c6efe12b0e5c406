import type { PoolClient } from 'pg';
import { AnsweredCursor } from './answered-cursor.ts';
import { abandon } from './pg-internals.ts';

/**
 * Never uses a connection again that did not answer in time. `pg` only gives the caller an error and keeps the socket,
 * so after a half-open network path every later query would queue up behind the lost one.
 */
export function closeAfterTimeout(client: PoolClient): void {
  const query = client.query.bind(client) as (...args: unknown[]) => unknown;
  const failed = (error: unknown) => {
    if (error instanceof Error && error.message === 'Query read timeout') abandon(client);
  };
  const guarded = (...args: unknown[]): unknown => {
    const answer = query(...args);
    if (answer instanceof Promise) answer.catch(failed);
    if (answer instanceof AnsweredCursor) answer.once('error', failed);
    return answer;
  };
  client.query = guarded as typeof client.query;
}
