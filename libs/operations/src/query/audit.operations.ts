import { CHANGE_KINDS, CHANGE_TARGETS, ClientId, Instant } from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation } from '../operation.ts';
import { commaListOf, consistent, IdPath, paging, timeRange } from '../parameters.ts';

export const AUDIT_LIST = 'audit';

export const AuditEntry = z
  .object({
    id: z.string(),
    tenantId: z.string(),
    changedAt: Instant,
    kind: z.enum(CHANGE_KINDS),
    target: z.string().meta({ description: `What was changed: ${CHANGE_TARGETS.join(', ')}.` }),
    targetId: z.string().meta({ description: 'Its id; of limits, breakers and orders `scope:id`.' }),
    actor: z
      .object({ person: z.string().nullable(), keyId: z.string(), keyName: z.string() })
      .nullable()
      .meta({ description: 'The key that was sent, and the person it named. Null: not known.' }),
    reason: z.string().nullable(),
    before: z.record(z.string(), z.unknown()).nullable().meta({ description: 'As it was, secrets masked.' }),
    after: z.record(z.string(), z.unknown()).nullable().meta({ description: 'As it is since, secrets masked.' }),
  })
  .meta({ id: 'AuditEntry' });
export type AuditEntry = z.infer<typeof AuditEntry>;

export const AuditFilter = consistent(
  z.object({
    actor: ClientId.optional().meta({ description: 'A person, or the id or the name of a key.' }),
    kind: commaListOf(CHANGE_KINDS).optional(),
    target: commaListOf(CHANGE_TARGETS).optional(),
    targetId: ClientId.optional(),
    ...timeRange,
    ...paging(AUDIT_LIST, 200),
  }),
);
export type AuditFilter = z.output<typeof AuditFilter>;

export const listAudit = operation({
  id: 'listAudit',
  method: 'get',
  path: '/api/audit',
  tag: 'Audit',
  summary:
    'Every change of rules, budgets, limits, keys, settings, orders and alerts, newest first. Rows are never changed.',
  scope: ['admin', 'platform'],
  query: AuditFilter,
  response: z.object({ entries: z.array(AuditEntry), hasMore: z.boolean(), nextCursor: z.string().optional() }),
});

const TAG = 'Erasures';

export const ErasureView = z
  .object({
    id: z.string(),
    actorId: z.string().optional().meta({ description: 'Absent once it is finished: the id is gone with the rest.' }),
    actorDigest: z.string().meta({ description: "SHA-256 of the actor's id, in hex." }),
    state: z.enum(['running', 'finished']),
    requestedAt: Instant,
    finishedAt: Instant.optional(),
    runs: z.int().meta({ description: 'That named the actor and do not any more.' }),
    events: z.int().meta({ description: 'Whose contents were removed.' }),
  })
  .meta({ id: 'Erasure' });
export type ErasureView = z.infer<typeof ErasureView>;

export const createErasure = operation({
  id: 'createErasure',
  method: 'post',
  path: '/api/erasures',
  tag: TAG,
  summary:
    'Removes what the runs started for an actor say, and who the actor is: messages, arguments, results, sealed calls. ' +
    'Counts, costs and times stay. Runs in the background; asked again meanwhile, it answers the one under way.',
  scope: 'admin',
  body: z.strictObject({ actorId: ClientId }).meta({ id: 'ErasureDraft' }),
  once: true,
  status: 202,
  response: z.object({ id: z.string(), requestedAt: Instant }),
});

export const listErasures = operation({
  id: 'listErasures',
  method: 'get',
  path: '/api/erasures',
  tag: TAG,
  summary: 'The 100 newest erasures of the tenant, newest first.',
  scope: 'admin',
  response: z.object({ erasures: z.array(ErasureView) }),
});

export const getErasure = operation({
  id: 'getErasure',
  method: 'get',
  path: '/api/erasures/:id',
  tag: TAG,
  summary: 'How far an erasure is.',
  scope: 'admin',
  params: IdPath,
  response: ErasureView,
  problems: [404],
});
