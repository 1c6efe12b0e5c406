import type { AlertNotice } from '@agentlens/contracts';
import type { AlertsTable } from '@agentlens/database';
import type { Selectable } from 'kysely';
import type { ChannelKinds } from '../channels/channel-kinds.ts';
import { type ChannelRow, kindOf, recipientsOf } from '../channels/channels.repository.ts';
import type { NewNotice } from '../channels/notice-queue.ts';

/** The group that a notice is about. */
interface NotifiedGroup {
  readonly tenantId: string;
  readonly groupId: string;
  readonly route: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly everyMs: number;
}

interface GroupNews {
  readonly reason: AlertNotice['reason'];
  readonly firing: readonly string[];
  /** Those of `firing` that the channel does not show yet. */
  readonly added: readonly string[];
  readonly ended: readonly string[];
}

/** What lists of deliveries show of an alert. */
export type NamedAlert = Pick<Selectable<AlertsTable>, 'rule_id' | 'agent_id'>;

/** One notice for the group, or one for each alert, for each recipient of the channel. */
export function buildGroupNotices(
  kinds: Pick<ChannelKinds, 'find'>,
  channel: ChannelRow,
  { tenantId, groupId, route, labels, everyMs }: NotifiedGroup,
  { reason, firing, added, ended }: GroupNews,
  alerts: ReadonlyMap<string, NamedAlert>,
): NewNotice[] {
  const { channel_id: channelId } = channel;
  const notice = (about: string, key: string, of: Pick<NewNotice, 'firing' | 'resolved'>, recipient?: string) => {
    const alert = alerts.get(about);
    return {
      ...{ tenantId, groupId, channelId, route, group: labels, reason, recipient, everyMs, ...of },
      orderKey: JSON.stringify([channelId, key, ...(recipient === undefined ? [] : [recipient])]),
      about: { alertId: about, ruleId: alert?.rule_id ?? '', agentId: alert?.agent_id ?? '' },
    };
  };
  if (kinds.find(kindOf(channel)).shows === 'single') {
    return [
      ...added.map((id) => notice(id, id, { firing: [id], resolved: [] })),
      ...ended.map((id) => notice(id, id, { firing: [], resolved: [id] })),
    ];
  }
  const about = added[0] ?? firing[0] ?? ended[0] ?? '';
  return recipientsOf(channel).map((recipient) => notice(about, groupId, { firing, resolved: ended }, recipient));
}
