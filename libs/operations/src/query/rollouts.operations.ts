import { Instant, Promotion } from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation, RuleChangeHeaders } from '../operation.ts';
import { IdPath } from '../parameters.ts';
import { RuleView } from './rules.operations.ts';

const path = { params: IdPath, tag: 'Guardrails' } as const;
const counted = {
  asked: z.int().meta({ description: 'Calls the rule was evaluated for.' }),
  stopped: z.int().meta({ description: 'Calls it blocked, ended or held for approval.' }),
  wouldStop: z.int().meta({ description: 'The same in shadow, or outside of the share of a canary.' }),
};
const rate = z.number().min(0).max(1);

export const RuleRollout = z
  .object({
    ruleId: z.string(),
    version: z.int(),
    mode: z.enum(['enforce', 'canary', 'shadow', 'off']),
    percent: z.number().optional(),
    since: Instant.meta({ description: 'When the meaning of the rule last changed; figures begin there.' }),
    ...counted,
    enforced: z.int().meta({ description: 'Asked calls for which it was enforced.' }),
    bypassed: z.int().meta({ description: 'Calls for which it could not be evaluated.' }),
    judged: z.int().meta({ description: 'Of the newest 1,000 stops, those whose outcome is known.' }),
    harmless: z.int().meta({ description: 'Judged stops after which nothing went wrong.' }),
    stopRate: rate,
    bypassRate: rate,
    falseRejectionRate: rate.nullable().meta({ description: 'Null while no stop is judged.' }),
    byDay: z.array(z.object({ day: z.iso.date(), ...counted })).meta({ description: 'The last 30 UTC days.' }),
    guard: z.object({
      ok: z.boolean(),
      unmet: z.array(z.object({ path: z.string(), message: z.string() })),
    }),
    rollbacks: z
      .array(z.object({ version: z.int(), at: Instant, reason: z.string() }))
      .meta({ description: 'The last ten, newest first.' }),
  })
  .meta({ id: 'RuleRollout' });
export type RuleRollout = z.infer<typeof RuleRollout>;

export const getRuleRollout = operation({
  id: 'getRuleRollout',
  ...path,
  method: 'get',
  path: '/api/guardrails/:id/rollout',
  summary: 'What a decision rule stopped or would have stopped, and what its guard still requires.',
  scope: 'read',
  response: RuleRollout,
  problems: [404],
});

const changing = {
  ...path,
  scope: ['admin', 'edit'],
  once: true,
  headers: RuleChangeHeaders,
  versioned: true,
} as const;

export const promoteRule = operation({
  id: 'promoteRule',
  ...changing,
  method: 'post',
  path: '/api/guardrails/:id/promote',
  summary: 'Move a rule to shadow, canary or enforce. 409 lists what its guard still requires.',
  body: Promotion.meta({ id: 'Promotion' }),
  examples: { canary: { to: 'canary', percent: 10, reason: 'No false rejections in a week' } },
  response: RuleView,
  problems: [404, 409, 412, 422],
});

export const suspendRule = operation({
  id: 'suspendRule',
  ...changing,
  method: 'post',
  path: '/api/guardrails/:id/suspend',
  summary: 'Suspend any rule for at most 30 days; it is not evaluated meanwhile. until null ends the suspension.',
  body: z.strictObject({
    until: z.iso.datetime({ offset: true, error: 'must be a time like 2026-03-01T18:00:00Z, or null' }).nullable(),
    reason: z.string().trim().min(1, 'must contain a reason').max(1000),
  }),
  examples: { incident: { until: '2026-03-01T18:00:00.000Z', reason: 'It blocks the refunds of incident 42' } },
  response: RuleView,
  problems: [404, 412, 422],
});
