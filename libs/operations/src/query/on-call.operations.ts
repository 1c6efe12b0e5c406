import {
  ClientId,
  Instant,
  MAX_ON_CALL_OVERRIDE_DAYS,
  OnCallId,
  OnCallOverride,
  OnCallSchedule,
} from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation, VersionHeaders } from '../operation.ts';

const TAG = 'On call';
const SchedulePath = z.object({ id: OnCallId });

const Shift = z.object({
  person: z.string().nullable().meta({ description: 'Null: the shift is empty.' }),
  name: z.string().nullable().meta({ description: 'Null: the shift is empty, or the person is not known.' }),
  because: z.enum(['override', 'layer', 'empty_shift']),
  override: z.string().optional().meta({ description: 'Id of the override.' }),
  layer: z.int().optional().meta({ description: 'The layer, from 1.' }),
});

export const OnCallView = OnCallSchedule.extend({
  id: OnCallId,
  overrides: z.array(OnCallOverride.extend({ name: z.string().nullable() })).meta({
    description: 'Those that have not ended, in the order in which they were added.',
  }),
  at: Instant.meta({ description: 'The moment that `onCall` is about.' }),
  onCall: Shift,
  next: Shift.extend({ at: Instant })
    .nullable()
    .meta({ description: 'The next change of the person; null if none is in sight.' }),
  version: z.int(),
}).meta({ id: 'OnCallSchedule' });
export type OnCallView = z.infer<typeof OnCallView>;

export const listOnCall = operation({
  id: 'listOnCall',
  method: 'get',
  path: '/api/on-call',
  tag: TAG,
  summary: 'On-call schedules, who is on call now, and who comes next.',
  scope: 'read',
  response: z.object({ schedules: z.array(OnCallView) }),
});

export const getOnCall = operation({
  id: 'getOnCall',
  method: 'get',
  path: '/api/on-call/:id',
  tag: TAG,
  summary: 'Who is on call at a moment, and why: an override, a layer, or an empty shift.',
  scope: 'read',
  params: SchedulePath,
  query: z.object({ at: Instant.optional().meta({ description: 'Default: now.' }) }),
  response: OnCallView,
  problems: [400, 404],
});

export const setOnCall = operation({
  id: 'setOnCall',
  method: 'put',
  path: '/api/on-call/:id',
  tag: TAG,
  summary: 'Create or replace a schedule. Its overrides stay.',
  scope: 'edit',
  params: SchedulePath,
  headers: VersionHeaders,
  body: OnCallSchedule,
  examples: {
    weekly: {
      name: 'Platform',
      layers: [
        {
          ...{ people: ['0198c2f4-ann', '0198c2f4-ben'], rotation: 'week', startsOn: '2026-03-02' },
          ...{ handover: '09:00', zone: 'Europe/Berlin' },
        },
      ],
    },
  },
  versioned: true,
  response: OnCallView,
  problems: [412, 422],
});

export const deleteOnCall = operation({
  id: 'deleteOnCall',
  method: 'delete',
  path: '/api/on-call/:id',
  tag: TAG,
  summary: 'Delete a schedule and its overrides. 409 if an approval policy names it.',
  scope: 'edit',
  params: SchedulePath,
  response: z.object({ id: z.string(), deleted: z.literal(true) }),
  problems: [404, 409],
});

export const addOnCallOverride = operation({
  id: 'addOnCallOverride',
  method: 'post',
  path: '/api/on-call/:id/overrides',
  tag: TAG,
  summary: 'Put a person on call instead of the layers for some time. Of two at once, the later one applies.',
  scope: 'operate',
  once: true,
  params: SchedulePath,
  body: z.strictObject({
    person: ClientId.meta({ description: 'Id of a person.' }),
    from: Instant.optional().meta({ description: 'Default: now. Not in the past.' }),
    to: Instant.meta({ description: `At most ${MAX_ON_CALL_OVERRIDE_DAYS} days after the start.` }),
  }),
  response: OnCallView,
  problems: [404, 409, 422],
});

export const endOnCallOverride = operation({
  id: 'endOnCallOverride',
  method: 'delete',
  path: '/api/on-call/:id/overrides/:override',
  tag: TAG,
  summary: 'Remove an override. One that has begun ends now.',
  scope: 'operate',
  params: SchedulePath.extend({ override: ClientId }),
  response: OnCallView,
  problems: [404],
});
