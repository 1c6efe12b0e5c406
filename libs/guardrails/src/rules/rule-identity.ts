import type { GuardrailRule } from '@agentlens/contracts';

/** Fields of a rule that evaluation needs. Excludes the action config, so that no secret stays in memory. */
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
