import {
  ClientId,
  Decision,
  DECISION_EFFECTS,
  DECISION_PHASES,
  DECISION_REASONS,
  DecisionEffect,
  DecisionReason,
  Instant,
  RuleBypass,
  RuleFinding,
} from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation } from '../operation.ts';
import { commaListOf, consistent, paging, timeRange } from '../parameters.ts';

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
    decidedAt: Instant,
  })
  .meta({ id: 'Decision' });
export type DecisionView = z.infer<typeof DecisionView>;

export const DECISIONS_LIST = 'decisions';

export const DecisionFilter = consistent(
  z.object({
    agentId: ClientId.optional(),
    runId: ClientId.optional(),
    ruleId: ClientId.optional().meta({ description: 'Decisions for which this rule matched, enforced or in shadow.' }),
    mode: z.enum(['enforce', 'shadow']).optional().meta({
      description: 'Decisions for which a rule in this mode matched; with ruleId, this rule.',
    }),
    reason: commaListOf(DECISION_REASONS).optional().meta({ description: 'What settled it.' }),
    budgetId: ClientId.optional(),
    wouldHave: commaListOf(['modify', 'ask', 'block', 'terminate']).optional().meta({
      description: 'Calls to which this would have been done with rules in shadow enforced too.',
    }),
    toolName: ClientId.optional(),
    phase: commaListOf(DECISION_PHASES).optional(),
    verdict: commaListOf(['ALLOW', 'BLOCK']).optional().meta({ description: 'What the agent was told.' }),
    effect: commaListOf(DECISION_EFFECTS).optional().meta({ description: 'What was done to the call.' }),
    inputsDigest: z.string().max(64).optional().meta({ description: 'Decisions about the same arguments.' }),
    ...timeRange,
    ...paging(DECISIONS_LIST, 500, 100),
  }),
);
export type DecisionFilter = z.output<typeof DecisionFilter>;

export const listDecisions = operation({
  id: 'listDecisions',
  method: 'get',
  path: '/api/decisions',
  tag: 'Decisions',
  summary:
    'What was decided about calls of every run, newest first. wouldHave=block shows what shadow rules would have blocked.',
  scope: 'read',
  query: DecisionFilter,
  response: z.object({ decisions: z.array(DecisionView), hasMore: z.boolean(), nextCursor: z.string().optional() }),
});
