import { type RulesChanged, rulesChanged, timeOrderedId } from '@agentlens/contracts';
import type { Tables } from '@agentlens/database';
import type { Kysely } from 'kysely';

/** The name of this service in the outbox. Its relay sends only entries with this name. */
export const WRITER = 'guardrail-evaluator';

/** Announces to every evaluator that a tenant's settings changed, in the same transaction as the change. */
export async function announceSettings(db: Kysely<Tables>, tenantId: string, at: string): Promise<void> {
  const change: RulesChanged = { tenantId, at, version: timeOrderedId(Date.parse(at)) };
  await db
    .insertInto('outbox')
    .values({ writer: WRITER, topic: rulesChanged.name, body: JSON.stringify(change), created_at: at })
    .execute();
}
