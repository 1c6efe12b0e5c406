import { z } from 'zod';
import { operation } from '../operation.ts';

const Settings = z
  .strictObject({
    decisionFailMode: z.enum(['allow', 'block']).meta({
      description: 'What happens to a call that nobody could judge in time, because the evaluator is away.',
    }),
  })
  .meta({ id: 'TenantSettings' });
export type TenantSettings = z.infer<typeof Settings>;

export const getSettings = operation({
  id: 'getSettings',
  method: 'get',
  path: '/api/settings',
  tag: 'Settings',
  summary: 'What holds for the whole tenant.',
  scope: 'read',
  response: Settings,
});

export const updateSettings = operation({
  id: 'updateSettings',
  method: 'put',
  path: '/api/settings',
  tag: 'Settings',
  summary: 'Changes what holds for the whole tenant; in force everywhere within 5 seconds.',
  scope: 'admin',
  body: Settings,
  response: Settings,
});
