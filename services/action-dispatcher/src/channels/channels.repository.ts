import { createHash } from 'node:crypto';
import { CHANNEL_KINDS, ChannelConfig, type ChannelKind } from '@agentlens/contracts';
import type { ChannelsTable, Tables } from '@agentlens/database';
import type { Kysely, Selectable } from 'kysely';

export type ChannelRow = Selectable<ChannelsTable>;
type Db = Kysely<Tables>;

/** Breaker and pace are per channel: two channels may share an address, such as that of PagerDuty. */
export function channelDestination(channelId: string): string {
  return createHash('sha256').update(`channel:${channelId}`).digest('hex');
}

export function kindOf({ kind }: Pick<ChannelRow, 'kind'>): ChannelKind {
  const known = CHANNEL_KINDS.find((one) => one === kind);
  if (known === undefined) throw new Error(`a channel is of the kind "${kind}", which this version does not know`);
  return known;
}

export function readChannels(db: Db, tenantId: string): Promise<ChannelRow[]> {
  return db.selectFrom('channels').selectAll().where('tenant_id', '=', tenantId).orderBy('channel_id').execute();
}

export function readChannel(db: Db, tenantId: string, channelId: string): Promise<ChannelRow | undefined> {
  return db
    .selectFrom('channels')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('channel_id', '=', channelId)
    .executeTakeFirst();
}

/** Recipients that get a message each; a channel of another kind has one receiver. */
export function recipientsOf({ kind, config }: Pick<ChannelRow, 'kind' | 'config'>): (string | undefined)[] {
  if (kind !== 'email') return [undefined];
  const { to } = config as { readonly to?: readonly string[] };
  return [...(to ?? [])];
}

/** @throws ZodError if a stored config is of another version */
export function parseConfig(config: unknown): ChannelConfig {
  return ChannelConfig.parse(config);
}
