import {
  FieldChange,
  Instant,
  RULE_CHANGE_SOURCES,
  RuleDrift,
  RuleKey,
  RulesetApply,
  RulesetDraft,
  RulesetPlan,
} from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation, RuleChangeHeaders } from '../operation.ts';
import { consistent, IdPath, paging } from '../parameters.ts';
import { RuleView } from './rules.operations.ts';

export const VERSIONS_LIST = 'rule-versions';

const versionOf = {
  ruleId: z.string(),
  version: z.int(),
  changedAt: Instant,
  changedBy: z.string().optional().meta({ description: 'Absent: it was not recorded.' }),
  source: z.enum(RULE_CHANGE_SOURCES),
  reason: z.string().optional(),
  deleted: z.boolean().meta({ description: 'With this version the rule was deleted.' }),
  changes: z.array(FieldChange).meta({
    description: 'What is different from the version before. Of a secret only that it changed.',
  }),
};

export const RuleVersionView = z.object(versionOf).meta({ id: 'RuleVersion' });
export type RuleVersionView = z.infer<typeof RuleVersionView>;

const Reason = z.string().trim().min(1, 'must say why').max(1000);

export const VersionsFilter = consistent(z.object(paging(VERSIONS_LIST, 200)));
export type VersionsFilter = z.output<typeof VersionsFilter>;

export const listRuleVersions = operation({
  id: 'listRuleVersions',
  method: 'get',
  path: '/api/guardrails/:id/versions',
  tag: 'Guardrails',
  summary: 'What was changed of a rule, by whom and why, newest first. Versions of deleted rules stay.',
  scope: 'read',
  params: IdPath,
  query: VersionsFilter,
  response: z.object({
    versions: z.array(RuleVersionView),
    hasMore: z.boolean(),
    nextCursor: z.string().optional(),
  }),
  problems: [404],
});

export const getRuleVersion = operation({
  id: 'getRuleVersion',
  method: 'get',
  path: '/api/guardrails/:id/versions/:version',
  tag: 'Guardrails',
  summary: 'One version of a rule, with the rule as it was then.',
  scope: 'read',
  params: IdPath.extend({
    version: z
      .string()
      .regex(/^\d{1,9}$/, 'must be the number of a version')
      .transform(Number)
      .meta({ type: 'integer', minimum: 0, maximum: 999_999_999 }),
  }),
  response: z.object({ ...versionOf, rule: RuleView }).meta({ id: 'RuleVersionWithRule' }),
  problems: [404],
});

export const revertRule = operation({
  id: 'revertRule',
  method: 'post',
  path: '/api/guardrails/:id/revert',
  tag: 'Guardrails',
  summary: 'Makes a new version that says what an earlier one said. Secrets come back too.',
  scope: 'admin',
  once: true,
  params: IdPath,
  headers: RuleChangeHeaders,
  body: z.strictObject({ version: z.int().min(1), reason: Reason.optional() }),
  versioned: true,
  response: RuleView,
  problems: [404, 409, 412, 422],
});

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
