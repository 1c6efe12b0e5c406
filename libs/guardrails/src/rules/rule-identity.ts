import type { GuardrailRule } from '@agentlens/contracts';

/** What evaluation needs of a rule; no action config, so that no secret lies about in memory. */
export type RuleIdentity = Pick<
  GuardrailRule,
  | 'id'
  | 'tenantId'
  | 'version'
  | 'name'
  | 'agentId'
  | 'conditionType'
  | 'actionType'
  | 'cooldownMinutes'
  | 'dryRun'
  | 'priority'
>;
