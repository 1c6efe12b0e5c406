import { Instant } from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation } from '../operation.ts';
import { consistent, timeRange } from '../parameters.ts';
import { AlertView } from './alerts.operations.ts';
import { AuditEntry } from './audit.operations.ts';
import { RefusalGroup } from './refusals.operations.ts';

const Notice = z.object({
  at: Instant,
  receiver: z.string().meta({ description: 'Name or host of the receiver; the action, if it has neither.' }),
  event: z.string().optional().meta({ description: 'Type of the message, or the action of a rule.' }),
  status: z.string().optional().meta({ description: 'What the message said of its subject, such as `killed`.' }),
  about: z.string().meta({ description: 'The agent, or empty.' }),
  result: z.string(),
});

export const Incident = z
  .object({
    ...{ from: Instant, to: Instant },
    changes: z.array(AuditEntry).meta({ description: 'The newest 200, oldest first.' }),
    refusals: z.array(RefusalGroup).meta({ description: 'Refused calls by rule version, at most 20 groups.' }),
    approvals: z.array(AlertView).meta({ description: 'Approvals and alerts, the newest 200, oldest first.' }),
    notices: z.array(Notice).meta({ description: 'The newest 200 deliveries, oldest first.' }),
    costs: z
      .array(
        z.object({ agentId: z.string(), costUsd: z.number(), events: z.int(), decisions: z.int(), blocked: z.int() }),
      )
      .meta({
        description: 'By agent, most expensive first, at most 50; of whole hours if minutes are no longer kept.',
      }),
    markdown: z.string().meta({ description: 'The same as a document.' }),
  })
  .meta({ id: 'Incident' });
export type Incident = z.infer<typeof Incident>;

export const IncidentQuery = consistent(z.object(timeRange));
export type IncidentQuery = z.output<typeof IncidentQuery>;

export const getIncident = operation({
  id: 'getIncident',
  method: 'get',
  path: '/api/incident',
  tag: 'Audit',
  summary:
    'The facts of a post-mortem between two instants (default: the last 24 hours): changes, refused calls, approvals, ' +
    'notices and costs, as data and as Markdown.',
  scope: 'admin',
  query: IncidentQuery,
  response: Incident,
});
