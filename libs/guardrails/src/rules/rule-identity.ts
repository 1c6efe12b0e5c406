import type { GuardrailRule } from '@agentlens/contracts';

/** Fields of a rule that evaluation needs. Excludes the action config, so that no secret stays in memory. */
export interface RuleIdentity extends Fields {
  /** The version to which approvals are bound. */
  readonly meaningVersion: number;
}

type Fields = Pick<
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
