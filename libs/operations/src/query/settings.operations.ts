import { z } from 'zod';
import { operation } from '../operation.ts';
import { VersionHeaders } from '../version-headers.ts';

const fields = {
  decisionFailMode: z.enum(['allow', 'block']).meta({
    description: 'What happens to a call that nobody could judge in time, because the evaluator is away.',
  }),
  defaultBreaker: z.enum(['on', 'off']).meta({
    description: 'Whether the circuit breaker watches runs for which nobody set limits, by the default limits.',
  }),
  decisionArguments: z.enum(['none', 'redacted']).meta({
    description: 'Whether decisions keep the arguments of the call, with secrets and personal data taken out.',
  }),
  deniedCalls: z.enum(['deny', 'ask']).meta({
    description:
      'What happens if a run repeats a call (tool and arguments) that a person denied: it is denied with the same reason, or a person is asked again.',
  }),
  contentRetentionDays: z
    .int()
    .min(1)
    .max(3650)
    .nullable()
    .meta({
      description:
        'After so many days payloads, arguments and results are removed; counts, costs and times stay. Null: they are kept as ' +
        'long as the events.',
    }),
};

const Settings = z
  .object({ ...fields, version: z.int().meta({ description: 'Raised by one with each change.' }) })
  .meta({ id: 'TenantSettings' });
export type TenantSettings = z.infer<typeof Settings>;

const Patch = z.strictObject(fields).partial().meta({ id: 'TenantSettingsPatch' });
export type TenantSettingsPatch = z.infer<typeof Patch>;

export const getSettings = operation({
  id: 'getSettings',
  method: 'get',
  path: '/api/settings',
  tag: 'Settings',
  summary: 'What holds for the whole tenant.',
  scope: 'read',
  response: Settings,
  versioned: true,
});

const { decisionFailMode, ...later } = fields;

export const updateSettings = operation({
  id: 'updateSettings',
  method: 'put',
  path: '/api/settings',
  tag: 'Settings',
  summary:
    'Sets what holds for the whole tenant; in force everywhere within 5 seconds. What was added after decisionFailMode stays as it is where it is left out.',
  scope: 'admin',
  headers: VersionHeaders,
  problems: [412],
  body: z.strictObject({ decisionFailMode, ...z.object(later).partial().shape }).meta({ id: 'TenantSettingsDraft' }),
  response: Settings,
  versioned: true,
});

export const patchSettings = operation({
  id: 'patchSettings',
  method: 'patch',
  path: '/api/settings',
  tag: 'Settings',
  summary: 'Changes some of what holds for the whole tenant; in force everywhere within 5 seconds.',
  scope: 'admin',
  headers: VersionHeaders,
  problems: [412],
  body: Patch,
  response: Settings,
  versioned: true,
});
