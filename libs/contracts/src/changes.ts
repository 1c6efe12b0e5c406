import { z } from 'zod';
import { displayName } from './ids.ts';
import { Way } from './people.ts';

/** Every kind of change that is recorded in the audit log, as `target.action`. */
export const CHANGE_KINDS = [
  'rule.created',
  'rule.changed',
  'rule.deleted',
  'budget.created',
  'budget.changed',
  'budget.deleted',
  'breaker_limits.set',
  'breaker_limits.deleted',
  'breaker.reset',
  'tree_limits.set',
  'key.created',
  'key.rotated',
  'key.revoked',
  'settings.changed',
  'order.given',
  'agent.unpaused',
  'alert.acknowledged',
  'alert.approved',
  'alert.denied',
  'alert.cancelled',
  'delivery.redelivered',
  'tenant.created',
  'webhook.created',
  'webhook.changed',
  'webhook.secret_rotated',
  'webhook.deleted',
  'run.deleted',
  'label.cleared',
  'price.set',
  'price.deleted',
  'price_table.loaded',
  'reprice.started',
  'reprice.finished',
  'erasure.started',
  'erasure.finished',
  'saved_view.set',
  'saved_view.deleted',
  'model_connection.set',
  'model_connection.deleted',
  'deploy.recorded',
  'decision.judged',
  'session.started',
  'session.refused',
  'session.ended',
  'person.seen',
  'person.changed',
  'person.disabled',
  'grant.set',
  'provider.created',
  'provider.changed',
  'provider.deleted',
  'team.set',
  'team.deleted',
  'deputy.named',
  'deputy.ended',
  'on_call.set',
  'on_call.deleted',
  'on_call.override_added',
  'on_call.override_ended',
  'approval_policy.created',
  'approval_policy.changed',
  'approval_policy.deleted',
  'vote.cast',
  'channel.created',
  'channel.changed',
  'channel.deleted',
  'routing.changed',
  'silence.created',
  'silence.ended',
  'chat_link.set',
] as const;
export type ChangeKind = (typeof CHANGE_KINDS)[number];

/** Targets of changes: the part of a kind before the dot. */
export const CHANGE_TARGETS = [...new Set(CHANGE_KINDS.map((kind) => targetOf(kind)))];

export function targetOf(kind: ChangeKind): string {
  return kind.slice(0, kind.indexOf('.'));
}

/** The person behind a key, as named by the request. Attribution only; grants no permissions. */
export const PersonName = displayName(z.string().trim());

/** Author of a change: the key of the request, and the person behind it if named. */
export const ChangeAuthor = z.object({
  keyId: z.string(),
  keyName: z.string(),
  person: PersonName.optional(),
  /** Absent: `person` is only what the request says. Otherwise the platform has signed this person in. */
  personId: z.string().optional(),
  via: Way.optional(),
  /** The browser session. */
  sessionId: z.string().optional(),
});
export type ChangeAuthor = z.infer<typeof ChangeAuthor>;

/** Formats an author for display. Includes the key id because key names are not unique. */
export function signatureOf({ keyId, keyName, person, personId, via }: ChangeAuthor): string {
  if (personId !== undefined) return via === undefined ? (person ?? personId) : `${person ?? personId}, ${via}`;
  const key = keyName === keyId ? keyId : `${keyName} (${keyId})`;
  return person === undefined ? key : `${person}, with ${key}`;
}

/** A change as the service that made it records it. Secrets are already masked. */
export interface AuditedChange {
  readonly tenantId: string;
  /** RFC 3339. */
  readonly at: string;
  readonly kind: ChangeKind;
  readonly targetId: string;
  /** Absent if a replica of an older version did not send it. */
  readonly author?: ChangeAuthor | undefined;
  readonly reason?: string | undefined;
  readonly before?: object | undefined;
  readonly after?: object | undefined;
}

/** A change as stored in the audit log and sent to people and webhooks. */
export interface AuditRecord {
  readonly id: string;
  readonly tenantId: string;
  readonly changedAt: string;
  readonly kind: ChangeKind;
  readonly target: string;
  readonly targetId: string;
  /** Null if unknown. */
  readonly actor: {
    readonly person: string | null;
    readonly keyId: string;
    readonly keyName: string;
    /** Present if the platform has signed the person in. */
    readonly personId?: string;
    readonly via?: string;
    readonly sessionId?: string;
  } | null;
  readonly reason: string | null;
  readonly before: Record<string, unknown> | null;
  readonly after: Record<string, unknown> | null;
}
