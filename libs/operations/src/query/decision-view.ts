import { Decision, RuleBypass, RuleFinding } from '@agentlens/contracts/schemas';
import { z } from 'zod';

/** A decision as it is read back: without the arguments, whose digest is kept. */
export const DecisionView = z
  .object({
    id: z.string(),
    tenantId: z.string(),
    agentId: z.string(),
    runId: z.string(),
    phase: Decision.shape.phase,
    toolName: z.string().optional(),
    callId: z.string().optional(),
    verdict: Decision.shape.verdict.meta({ description: 'What the agent was told.' }),
    control: Decision.shape.control,
    effect: Decision.shape.effect.meta({ description: 'What the rules said, enforced or not.' }),
    cause: Decision.shape.cause,
    message: z.string(),
    evaluatedRules: z.array(RuleFinding),
    finalRuleId: z.string().optional(),
    approvalId: z.string().optional(),
    bypasses: z.array(RuleBypass),
    inputsDigest: z.string(),
    latencyMs: z.number(),
    decidedAt: z.string(),
  })
  .meta({ id: 'Decision' });
export type DecisionView = z.infer<typeof DecisionView>;
