import type { JSONColumnType } from 'kysely';
import type { Json, Timestamp } from './columns.ts';

/** Writer: action-dispatcher. */
export interface ChannelsTable {
  tenant_id: string;
  channel_id: string;
  kind: string;
  name: string | null;
  /** A `ChannelConfig`; its secrets are sealed for `[tenant_id, 'channels', channel_id]`. */
  config: Json;
  /** Where it leads, without anything secret. */
  target: string;
  fallback: string | null;
  enabled: boolean;
  version: number;
  created_at: Timestamp;
  updated_at: Timestamp;
}

/** Writer: action-dispatcher. The highest version is in force. */
export interface RoutingDocumentsTable {
  tenant_id: string;
  version: number;
  body: Json;
  saved_by: string | null;
  saved_at: Timestamp;
}

/** Writer: action-dispatcher. */
export interface SilencesTable {
  tenant_id: string;
  silence_id: string;
  matchers: JSONColumnType<string[], string, string>;
  starts_at: Timestamp;
  ends_at: Timestamp;
  comment: string;
  created_by: string;
  created_at: Timestamp;
}

/** Writer: action-dispatcher. What one channel shows of the alerts of one route. */
export interface NoticeGroupsTable {
  tenant_id: string;
  group_id: string;
  route_id: string;
  channel_id: string;
  labels: JSONColumnType<Record<string, string>, string, string>;
  not_before: Timestamp;
  due_at: Timestamp;
  last_sent_at: Timestamp | null;
  /** `groupInterval` of its route. */
  interval_ms: number;
  /** Alerts that the receiver was given as firing. */
  shown: string[];
}

/** Writer: action-dispatcher. Alerts of a group that fire. */
export interface NoticeMembersTable {
  tenant_id: string;
  group_id: string;
  alert_id: string;
}

/** Writer: action-dispatcher. */
export interface NoticesTable {
  tenant_id: string;
  notice_id: string;
  channel_id: string;
  route_id: string;
  /** Null: the notice is about one approval. */
  group_id: string | null;
  reason: string;
  at: Timestamp;
  delivery_id: string;
  fell_back: boolean;
}

/** Writer: action-dispatcher. */
export interface NoticeAlertsTable {
  tenant_id: string;
  alert_id: string;
  notice_id: string;
  state: 'firing' | 'resolved';
}

/** Writer: action-dispatcher. Escalations of an approval that are still to come. */
export interface ApprovalStepsTable {
  tenant_id: string;
  alert_id: string;
  step: number;
  route_id: string;
  channels: string[];
  due_at: Timestamp;
}

/** Writer: action-dispatcher. The account of a chat that a person has linked. */
export interface ChatLinksTable {
  tenant_id: string;
  workspace: string;
  chat_user: string;
  person_id: string | null;
  /** The key with which it was linked; it votes if there is no person. */
  key_id: string;
  name: string;
  linked_at: Timestamp;
}
