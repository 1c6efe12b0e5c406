import { FieldChange, Instant, RULE_CHANGE_SOURCES } from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation } from '../operation.ts';
import { consistent, IdPath, paging } from '../parameters.ts';
import { RuleChangeHeaders } from '../version-headers.ts';
import { RuleView } from './rule-view.ts';

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
