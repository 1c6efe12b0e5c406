import { z } from 'zod';
import { displayName } from './ids.ts';

/** Every kind of change that leaves a row in the audit: what it is about, and what was done to it. */
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
  'erasure.started',
  'erasure.finished',
] as const;
export type ChangeKind = (typeof CHANGE_KINDS)[number];

/** What the changes are about: the part of a kind before the point. */
export const CHANGE_TARGETS = [...new Set(CHANGE_KINDS.map((kind) => targetOf(kind)))];

export function targetOf(kind: ChangeKind): string {
  return kind.slice(0, kind.indexOf('.'));
}

/** The person behind a key, as the request names them. It says who acted and gives no right to anything. */
export const PersonName = displayName(z.string().trim());

/** Who changed something: the key that was sent, and the person behind it where the request named one. */
export const ChangeAuthor = z.object({
  keyId: z.string(),
  keyName: z.string(),
  person: PersonName.optional(),
});
export type ChangeAuthor = z.infer<typeof ChangeAuthor>;

/** How an author signs: names of keys may occur twice, and ids say nothing to people. */
export function signatureOf({ keyId, keyName, person }: ChangeAuthor): string {
  const key = keyName === keyId ? keyId : `${keyName} (${keyId})`;
  return person === undefined ? key : `${person}, with ${key}`;
}

/** One change, as the service that made it records it. Secrets are masked before. */
export interface AuditedChange {
  readonly tenantId: string;
  /** RFC 3339. */
  readonly at: string;
  readonly kind: ChangeKind;
  readonly targetId: string;
  /** Absent: a replica of an older version did not say. */
  readonly author?: ChangeAuthor | undefined;
  readonly reason?: string | undefined;
  readonly before?: object | undefined;
  readonly after?: object | undefined;
}

/** The same as it is in the record, and as people and webhooks are told. */
export interface AuditRecord {
  readonly id: string;
  readonly tenantId: string;
  readonly changedAt: string;
  readonly kind: ChangeKind;
  readonly target: string;
  readonly targetId: string;
  /** Null: not known. */
  readonly actor: { readonly person: string | null; readonly keyId: string; readonly keyName: string } | null;
  readonly reason: string | null;
  readonly before: Record<string, unknown> | null;
  readonly after: Record<string, unknown> | null;
}
