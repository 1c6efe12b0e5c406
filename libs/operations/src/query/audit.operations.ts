import {
  CHANGE_KINDS,
  CHANGE_TARGETS,
  ClientId,
  displayName,
  HttpAddress,
  Instant,
} from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation } from '../operation.ts';
import { commaListOf, consistent, IdPath, InstantParameter, paging, timeRange, wholeNumber } from '../parameters.ts';

export const AUDIT_LIST = 'audit';

export const AuditEntry = z
  .object({
    id: z.string(),
    tenantId: z.string(),
    changedAt: Instant,
    kind: z.enum(CHANGE_KINDS),
    target: z.string().meta({ description: `Kind of the changed object: ${CHANGE_TARGETS.join(', ')}.` }),
    targetId: z.string().meta({ description: 'Id of the object; `scope:id` for limits, breakers and orders.' }),
    actor: z
      .object({
        person: z.string().nullable(),
        keyId: z.string(),
        keyName: z.string(),
        personId: z.string().optional().meta({ description: 'Present if the platform has signed the person in.' }),
        via: z.string().optional().meta({ description: 'console, cli, mcp or api.' }),
        sessionId: z.string().optional().meta({ description: 'The browser session.' }),
      })
      .nullable()
      .meta({
        description: 'The key, and the person. Without `personId`, the client named the person. Null: unknown.',
      }),
    reason: z.string().nullable(),
    before: z
      .record(z.string(), z.unknown())
      .nullable()
      .meta({ description: 'State before the change, secrets masked.' }),
    after: z
      .record(z.string(), z.unknown())
      .nullable()
      .meta({ description: 'State after the change, secrets masked.' }),
  })
  .meta({ id: 'AuditEntry' });
export type AuditEntry = z.infer<typeof AuditEntry>;

export const AuditFilter = consistent(
  z.object({
    actor: ClientId.optional().meta({ description: 'A person, or the id or name of a key.' }),
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
    'Every change of rules, budgets, limits, keys, settings, orders and alerts, newest first. Entries never change.',
  scope: ['admin', 'platform'],
  query: AuditFilter,
  response: z.object({ entries: z.array(AuditEntry), hasMore: z.boolean(), nextCursor: z.string().optional() }),
});

const DeployDraft = z
  .strictObject({
    version: displayName(z.string('must be a version such as "2.4.0"').trim()).max(
      100,
      'must be at most 100 characters',
    ),
    agentId: ClientId.optional().meta({ description: 'The deployed agent. Omit it if the deploy affects all agents.' }),
    url: HttpAddress.optional().meta({ description: 'Link of the marker, such as a release or a pipeline.' }),
    note: z.string().trim().max(1_000, 'must be at most 1000 characters').optional(),
    at: InstantParameter.optional().meta({ description: 'When it happened, not in the future. Omitted: now.' }),
  })
  .meta({ id: 'DeployDraft' });
export type DeployDraft = z.output<typeof DeployDraft>;

export const Deploy = z
  .object({
    id: z.string(),
    at: Instant,
    version: z.string(),
    agentId: z.string().optional().meta({ description: 'Absent: all agents.' }),
    url: z.string().optional(),
    note: z.string().optional(),
    by: z.string().optional().meta({ description: 'The person or key that recorded it.' }),
  })
  .meta({ id: 'Deploy' });
export type Deploy = z.infer<typeof Deploy>;

export const createDeploy = operation({
  id: 'createDeploy',
  method: 'post',
  path: '/api/deploys',
  tag: 'Deploys',
  summary:
    'Record a deploy, which charts show as a marker. If the last deploy of the agent at that time has the same version, ' +
    'that one is returned, so a pipeline may repeat the request. Recorded in the audit as `deploy.recorded`.',
  scope: 'review',
  once: true,
  body: DeployDraft,
  examples: { agent: { agentId: 'researcher', version: '2.4.0', url: 'https://example.com/releases/2.4.0' } },
  status: 201,
  response: Deploy,
});

export const DeploysQuery = consistent(
  z.object({
    agentId: ClientId.optional().meta({ description: 'Deploys of this agent and of all agents.' }),
    ...timeRange,
    limit: wholeNumber(1, 200, 50),
  }),
);
export type DeploysQuery = z.output<typeof DeploysQuery>;

export const listDeploys = operation({
  id: 'listDeploys',
  method: 'get',
  path: '/api/deploys',
  tag: 'Deploys',
  summary: 'Recorded deploys, newest first.',
  scope: 'read',
  query: DeploysQuery,
  response: z.object({ deploys: z.array(Deploy) }),
});

const TAG = 'Erasures';

export const ErasureView = z
  .object({
    id: z.string(),
    actorId: z.string().optional().meta({ description: 'Absent once finished: the id is erased too.' }),
    actorDigest: z.string().meta({ description: "SHA-256 of the actor's id, in hex." }),
    state: z.enum(['running', 'finished']),
    requestedAt: Instant,
    finishedAt: Instant.optional(),
    runs: z.int().meta({ description: 'Runs from which the actor was removed.' }),
    events: z.int().meta({ description: 'Events whose contents were removed.' }),
  })
  .meta({ id: 'Erasure' });
export type ErasureView = z.infer<typeof ErasureView>;

export const createErasure = operation({
  id: 'createErasure',
  method: 'post',
  path: '/api/erasures',
  tag: TAG,
  summary:
    'Erase an actor and the contents of its runs: messages, arguments, results, encrypted calls. ' +
    'Counts, costs and times are kept. Runs in the background; a repeated request returns the running erasure.',
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
  summary: 'The 100 latest erasures, newest first.',
  scope: 'admin',
  response: z.object({ erasures: z.array(ErasureView) }),
});

export const getErasure = operation({
  id: 'getErasure',
  method: 'get',
  path: '/api/erasures/:id',
  tag: TAG,
  summary: 'Progress of an erasure.',
  scope: 'admin',
  params: IdPath,
  response: ErasureView,
  problems: [404],
});
