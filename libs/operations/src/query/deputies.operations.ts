import { Instant, MAX_DEPUTY_DAYS } from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation } from '../operation.ts';
import { IdPath } from '../parameters.ts';

const TAG = 'People';

const Named = z.object({ person: z.string(), name: z.string() });
const Deputyship = Named.extend({
  startsAt: Instant,
  endsAt: Instant,
  state: z.enum(['pending', 'active']),
});

export const DeputyshipView = Deputyship.meta({ id: 'Deputyship' });
export type DeputyshipView = z.infer<typeof DeputyshipView>;

export const listDeputies = operation({
  id: 'listDeputies',
  method: 'get',
  path: '/api/me/deputies',
  tag: TAG,
  summary: 'Who decides approvals in your place, and in whose place you decide.',
  scope: 'read',
  response: z.object({
    deputies: z.array(DeputyshipView).meta({ description: 'Your deputies.' }),
    standsInFor: z.array(DeputyshipView).meta({ description: 'People whose deputy you are.' }),
    candidates: z
      .array(Named)
      .meta({ description: 'People whom you may name: they have a role that reviews. By name, at most 1,000.' }),
  }),
});

export const setDeputy = operation({
  id: 'setDeputy',
  method: 'put',
  path: '/api/me/deputies/:id',
  tag: TAG,
  summary:
    'Name a person who decides approvals in your place for some time, or change the time. The vote is the vote of the ' +
    'deputy, and fills your place once: you and your deputies count as one.',
  scope: 'read',
  params: IdPath,
  body: z.strictObject({
    startsAt: Instant.optional().meta({ description: 'Default: now.' }),
    endsAt: Instant.meta({ description: `At most ${MAX_DEPUTY_DAYS} days after the start.` }),
  }),
  response: DeputyshipView,
  problems: [404, 409, 422],
});

export const endDeputy = operation({
  id: 'endDeputy',
  method: 'delete',
  path: '/api/me/deputies/:id',
  tag: TAG,
  summary: 'End the time of a deputy now.',
  scope: 'read',
  params: IdPath,
  response: z.object({ id: z.string(), ended: z.literal(true) }),
  problems: [404],
});
