import { ClientId, Instant } from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation } from '../operation.ts';
import { IdPath } from '../parameters.ts';

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
