import type { Topic } from '@agentlens/contracts';
import type { Tables } from '@agentlens/database';
import type { Transaction } from 'kysely';

/** Names this service's rows in the outbox, and its relay. */
export const WRITER = 'action-dispatcher';

/** A fact to publish once, and only if, the transaction commits. */
export async function putInOutbox<T extends object>(
  tx: Transaction<Tables>,
  topic: Topic<T>,
  message: T,
  createdAt: string,
): Promise<void> {
  await tx
    .insertInto('outbox')
    .values({ writer: WRITER, topic: topic.name, body: JSON.stringify(message), created_at: createdAt })
    .execute();
}
