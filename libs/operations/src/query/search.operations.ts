import { ClientId, Instant } from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation } from '../operation.ts';

const KINDS = [
  'run',
  'agent',
  'conversation',
  'rule',
  'trigger',
  'decision',
  'alert',
  'delivery',
  'budget',
  'event',
] as const;

const SearchHit = z
  .object({
    kind: z.enum(KINDS),
    id: z.string(),
    whole: z.boolean().meta({ description: 'Whether it is the id that was asked for, or begins with it.' }),
    name: z.string().optional().meta({ description: 'What people call it, where it has a name.' }),
    runId: z.string().optional().meta({ description: 'The run it belongs to.' }),
    agentId: z.string().optional(),
    at: Instant.optional().meta({ description: 'When it began or happened.' }),
  })
  .meta({ id: 'SearchHit' });
export type SearchHit = z.infer<typeof SearchHit>;

export const searchById = operation({
  id: 'searchById',
  method: 'get',
  path: '/api/search',
  tag: 'Service',
  summary:
    'What an id is: the runs, agents, rules and so on of the tenant that have it, then those whose id begins with it, where ' +
    'it has 6 characters or more (not events). At most 20, of what only begins so at most 10 of a kind. An agent is found by ' +
    'its slug too; triggers and events by ids that carry their time, as those of the platform do.',
  scope: 'read',
  query: z.strictObject({ id: ClientId }),
  response: z.object({ hits: z.array(SearchHit), truncated: z.boolean().meta({ description: 'There are more.' }) }),
});
