import { BreakerChanged, breakerChanged, RulesChanged, rulesChanged, timeOrderedId } from '@agentlens/contracts';
import { type Database, OutboxRelay, type Tables } from '@agentlens/database';
import { BusUnavailable, type EventBus } from '@agentlens/messaging';
import type { LoopProgress, Platform } from '@agentlens/platform';
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

interface SettingsOutboxDependencies {
  readonly database: Pick<Database, 'db'>;
  readonly bus: EventBus;
  readonly logger: Platform['logger'];
  readonly progress: LoopProgress;
}

/** Publishes the changes that were written with the rules, limits, budgets and breakers. */
export function createSettingsOutbox({ database, bus, logger, progress }: SettingsOutboxDependencies): OutboxRelay {
  return new OutboxRelay({
    db: database.db,
    writer: WRITER,
    publish: ({ topic, body }) =>
      topic === breakerChanged.name
        ? bus.publish(breakerChanged, BreakerChanged.parse(body))
        : bus.publish(rulesChanged, RulesChanged.parse(body)),
    isRefused: (error) => !(error instanceof BusUnavailable),
    onRefused: ({ id, topic }, err) => logger.error({ err, id, topic }, 'dropped a change that cannot be published'),
    attempt: (work) => progress.attempt(work),
    onError: (error) => logger.warn({ err: error }, 'publishing changes from the outbox failed, will retry'),
  });
}
