import { RuleDrift, RuleKey, RulesetApply, RulesetDraft, RulesetPlan } from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation } from '../operation.ts';

const rulesetPath = { params: z.object({ name: RuleKey }), tag: 'Rulesets' } as const;

const Plan = RulesetPlan.meta({ id: 'RulesetPlan' });

export const RulesetSummary = z
  .object({
    name: z.string(),
    rules: z.int(),
    drifted: z.int().meta({ description: 'Rules that others changed since the ruleset was applied.' }),
  })
  .meta({ id: 'RulesetSummary' });
export type RulesetSummary = z.infer<typeof RulesetSummary>;

export const ManagedRule = z.object({
  key: z.string(),
  ruleId: z.string(),
  name: z.string(),
  version: z.int(),
  appliedVersion: z.int(),
  drift: z.array(RuleDrift).meta({ description: 'What others changed since it was applied, oldest first.' }),
});
export type ManagedRule = z.infer<typeof ManagedRule>;

export const listRulesets = operation({
  id: 'listRulesets',
  method: 'get',
  path: '/api/rulesets',
  tag: 'Rulesets',
  summary: 'Sets of rules that are kept in files, by name.',
  scope: 'read',
  response: z.object({ rulesets: z.array(RulesetSummary) }),
});

export const getRuleset = operation({
  id: 'getRuleset',
  ...rulesetPath,
  method: 'get',
  path: '/api/rulesets/:name',
  summary: 'The rules of a ruleset, and what others changed of them since it was applied.',
  scope: 'read',
  response: z.object({ name: z.string(), rules: z.array(ManagedRule) }),
  problems: [404],
});

export const planRuleset = operation({
  id: 'planRuleset',
  ...rulesetPath,
  method: 'post',
  path: '/api/rulesets/:name/plan',
  summary: 'What applying these rules would change, by field. Changes nothing.',
  scope: 'admin',
  body: RulesetDraft.meta({ id: 'RulesetDraft' }),
  forwarded: true,
  response: Plan,
});

export const applyRuleset = operation({
  id: 'applyRuleset',
  ...rulesetPath,
  method: 'post',
  path: '/api/rulesets/:name/apply',
  summary:
    'Makes the ruleset what these rules say, all of it or nothing. 409 names who changed what since the plan whose basis is sent. The same again changes nothing.',
  scope: 'admin',
  once: true,
  body: RulesetApply.meta({ id: 'RulesetApply' }),
  forwarded: true,
  response: Plan,
  problems: [409],
});

export const releaseRuleset = operation({
  id: 'releaseRuleset',
  ...rulesetPath,
  method: 'delete',
  path: '/api/rulesets/:name',
  summary: 'Gives the rules of a ruleset back: they stay in force, and everybody may change them.',
  scope: 'admin',
  response: z.object({ released: z.int() }),
  problems: [404],
});
