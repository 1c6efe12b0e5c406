import { type RulesChanged, rulesChanged, timeOrderedId } from '@agentlens/contracts';
import type { Tables } from '@agentlens/database';
import type { Kysely } from 'kysely';
import { WRITER } from '../outbox-writer.ts';

/** Announces to every evaluator that a tenant's settings changed, in the same transaction as the change. */
export async function announceSettings(db: Kysely<Tables>, tenantId: string, at: string): Promise<void> {
  const change: RulesChanged = { tenantId, at, version: timeOrderedId(Date.parse(at)) };
  await db
    .insertInto('outbox')
    .values({ writer: WRITER, topic: rulesChanged.name, body: JSON.stringify(change), created_at: at })
    .execute();
}
