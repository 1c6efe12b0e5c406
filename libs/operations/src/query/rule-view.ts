import { GuardrailRule } from '@agentlens/contracts/schemas';

/** A rule as it is shown: secrets of its action are masked. A PUT that sends a mask back keeps the stored secret. */
export const RuleView = GuardrailRule.meta({ id: 'GuardrailRule' });
export type RuleView = GuardrailRule;
