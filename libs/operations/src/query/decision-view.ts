import { Decision, DecisionEffect, DecisionReason, RuleBypass, RuleFinding } from '@agentlens/contracts/schemas';
import { z } from 'zod';

/** A decision as it is read back. */
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
    effect: Decision.shape.effect.meta({ description: 'What was done to the call.' }),
    wouldHave: DecisionEffect.optional().meta({
      description: 'What would have been done with rules in shadow enforced too, where that is more.',
    }),
    reason: DecisionReason.optional().meta({ description: 'What settled it; absent where nothing stood in the way.' }),
    budgetId: z.string().optional().meta({ description: 'The budget that refused it.' }),
    cause: Decision.shape.cause,
    message: z.string(),
    evaluatedRules: z.array(RuleFinding),
    finalRuleId: z.string().optional(),
    approvalId: z.string().optional(),
    bypasses: z.array(RuleBypass),
    arguments: z.unknown().optional().meta({
      description: 'Redacted. Absent where the tenant keeps none (`decisionArguments`), or they are large.',
    }),
    argumentsCut: z.object({ start: z.string(), bytes: z.int() }).optional().meta({
      description: 'Of large arguments: how their redacted JSON text begins, and its length.',
    }),
    inputsDigest: z.string(),
    latencyMs: z.number(),
    decidedAt: z.string(),
  })
  .meta({ id: 'Decision' });
export type DecisionView = z.infer<typeof DecisionView>;
