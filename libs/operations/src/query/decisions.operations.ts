import {
  ASK_REASONS,
  ClientId,
  DECISION_EFFECTS,
  DECISION_PHASES,
  DECISION_REASONS,
  DecidedBy,
  Decision,
  DecisionEffect,
  DecisionReason,
  Instant,
  RuleBypass,
  RuleFinding,
} from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation } from '../operation.ts';
import { commaListOf, consistent, IdPath, paging, timeRange } from '../parameters.ts';

/** A recorded decision. */
export const DecisionView = z
  .object({
    id: z.string(),
    tenantId: z.string(),
    agentId: z.string(),
    runId: z.string(),
    phase: Decision.shape.phase,
    toolName: z.string().optional(),
    callId: z.string().optional(),
    verdict: Decision.shape.verdict.meta({ description: 'The answer the agent received.' }),
    control: Decision.shape.control,
    effect: Decision.shape.effect.meta({ description: 'Effect on the call.' }),
    wouldHave: DecisionEffect.optional().meta({
      description: 'Effect with shadow rules enforced, if more severe.',
    }),
    reason: DecisionReason.optional().meta({ description: 'What decided; absent for an unobstructed call.' }),
    budgetId: z.string().optional().meta({ description: 'Budget that blocked the call.' }),
    cause: Decision.shape.cause,
    message: z.string(),
    evaluatedRules: z.array(RuleFinding),
    finalRuleId: z.string().optional(),
    approvalId: z.string().optional(),
    askedTimes: z.int().optional().meta({
      description: 'How often the call was asked while it waited for approval, if more than once.',
    }),
    bypasses: z.array(RuleBypass),
    decider: DecidedBy.optional().meta({ description: 'Who decided. Absent for decisions of earlier versions.' }),
    arguments: z.unknown().optional().meta({
      description: 'Redacted. Absent if the tenant records none (`decisionArguments`) or they are large.',
    }),
    argumentsCut: z.object({ start: z.string(), bytes: z.int() }).optional().meta({
      description: 'For large arguments: beginning and length of their redacted JSON text.',
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
    reason: commaListOf(DECISION_REASONS).optional().meta({ description: 'What decided.' }),
    budgetId: ClientId.optional(),
    wouldHave: commaListOf(['modify', 'ask', 'block', 'terminate']).optional().meta({
      description: 'Effect with shadow rules enforced.',
    }),
    toolName: ClientId.optional(),
    phase: commaListOf(DECISION_PHASES).optional(),
    verdict: commaListOf(['ALLOW', 'BLOCK']).optional().meta({ description: 'The answer the agent received.' }),
    effect: commaListOf(DECISION_EFFECTS).optional().meta({ description: 'Effect on the call.' }),
    inputsDigest: z.string().max(64).optional().meta({ description: 'Decisions with the same arguments.' }),
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
    'Decisions of all runs, newest first. wouldHave=block lists what shadow rules would have blocked. A call that is ' +
    'asked again while it waits for approval is one decision.',
  scope: 'read',
  query: DecisionFilter,
  response: z.object({ decisions: z.array(DecisionView), hasMore: z.boolean(), nextCursor: z.string().optional() }),
});

export const getDecision = operation({
  id: 'getDecision',
  method: 'get',
  path: '/api/decisions/:id',
  tag: 'Decisions',
  summary: 'A decision.',
  scope: 'read',
  params: IdPath,
  response: DecisionView,
  problems: [404],
});

const AskedPath = z
  .object({
    reason: z.enum(ASK_REASONS),
    why: z.string().meta({ description: 'The reason in words.' }),
    decisions: z.int(),
    ruleId: z.string().optional().meta({ description: 'Rule that made the gateway ask.' }),
    ruleName: z.string().optional().meta({ description: 'Absent if the rule was deleted.' }),
    advice: z.string().optional().meta({ description: 'How to let gateways decide more calls.' }),
  })
  .meta({ id: 'AskedPath' });

export const DecisionPaths = z
  .object({
    from: Instant.meta({ description: 'Start of the first hour.' }),
    to: Instant.optional(),
    gateway: z.int().meta({ description: 'Decisions that gateways made themselves.' }),
    evaluator: z.int(),
    unanswered: z.int().meta({ description: 'Decisions by the fail mode or an order, without the evaluator.' }),
    asked: z.array(AskedPath).meta({
      description:
        'Why gateways that decide themselves asked the evaluator, most frequent first, at most 50. Empty if they do not ' +
        'decide.',
    }),
  })
  .meta({ id: 'DecisionPaths' });
export type DecisionPaths = z.infer<typeof DecisionPaths>;

export const getDecisionPaths = operation({
  id: 'getDecisionPaths',
  method: 'get',
  path: '/api/decision-paths',
  tag: 'Decisions',
  summary:
    'How many decisions gateways and the evaluator made, in whole hours. Default: the last 24 hours. Decisions of ' +
    'earlier versions are not counted.',
  scope: 'read',
  query: consistent(z.object(timeRange)),
  response: DecisionPaths,
});
