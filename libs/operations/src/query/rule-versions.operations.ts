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
  changedBy: z.string().optional().meta({ description: 'Absent if not recorded.' }),
  source: z.enum(RULE_CHANGE_SOURCES),
  reason: z.string().optional(),
  deleted: z.boolean().meta({ description: 'This version deleted the rule.' }),
  changes: z.array(FieldChange).meta({
    description: 'Differences from the previous version. Secrets are only marked as changed.',
  }),
};

export const RuleVersionView = z.object(versionOf).meta({ id: 'RuleVersion' });
export type RuleVersionView = z.infer<typeof RuleVersionView>;

const Reason = z.string().trim().min(1, 'must contain a reason').max(1000);

export const VersionsFilter = consistent(z.object(paging(VERSIONS_LIST, 200)));
export type VersionsFilter = z.output<typeof VersionsFilter>;

export const listRuleVersions = operation({
  id: 'listRuleVersions',
  method: 'get',
  path: '/api/guardrails/:id/versions',
  tag: 'Guardrails',
  summary: 'Versions of a rule with author and reason, newest first. Versions of deleted rules are kept.',
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
  summary: 'A version of a rule, with the rule at that version.',
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
  summary: 'Create a new version from an earlier one, secrets included.',
  scope: ['admin', 'edit'],
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
    drifted: z.int().meta({ description: 'Rules changed by others since the ruleset was applied.' }),
  })
  .meta({ id: 'RulesetSummary' });
export type RulesetSummary = z.infer<typeof RulesetSummary>;

export const ManagedRule = z.object({
  key: z.string(),
  ruleId: z.string(),
  name: z.string(),
  version: z.int(),
  appliedVersion: z.int(),
  drift: z.array(RuleDrift).meta({ description: 'Changes by others since it was applied, oldest first.' }),
});
export type ManagedRule = z.infer<typeof ManagedRule>;

export const listRulesets = operation({
  id: 'listRulesets',
  method: 'get',
  path: '/api/rulesets',
  tag: 'Rulesets',
  summary: 'Rulesets, by name.',
  scope: 'read',
  response: z.object({ rulesets: z.array(RulesetSummary) }),
});

export const getRuleset = operation({
  id: 'getRuleset',
  ...rulesetPath,
  method: 'get',
  path: '/api/rulesets/:name',
  summary: 'Rules of a ruleset, and changes by others since it was applied.',
  scope: 'read',
  response: z.object({ name: z.string(), rules: z.array(ManagedRule) }),
  problems: [404],
});

export const planRuleset = operation({
  id: 'planRuleset',
  ...rulesetPath,
  method: 'post',
  path: '/api/rulesets/:name/plan',
  summary: 'Show what applying these rules would change, by field. Changes nothing.',
  scope: ['admin', 'edit'],
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
    'Make the ruleset match these rules, all or nothing. 409 lists changes since the plan the request is based on. Repeating it changes nothing.',
  scope: ['admin', 'edit'],
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
  summary: 'Release the rules of a ruleset: they stay active and can be edited anywhere.',
  scope: ['admin', 'edit'],
  response: z.object({ released: z.int() }),
  problems: [404],
});
