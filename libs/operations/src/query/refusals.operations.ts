import { ClientId, DecisionReason, Instant } from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation } from '../operation.ts';
import { consistent, IdPath, timeRange } from '../parameters.ts';

export const JUDGEMENTS = ['right', 'wrong'] as const;

const Judgement = z.object({
  judgement: z.enum(JUDGEMENTS),
  by: z.string(),
  at: Instant,
  reason: z.string().optional(),
});

const Refusal = z.object({
  decisionId: z.string(),
  at: Instant,
  runId: z.string(),
  agentId: z.string(),
  actor: z.string().optional().meta({ description: 'The end user of the run.' }),
  toolName: z.string().optional(),
  callId: z.string().optional(),
  arguments: z
    .string()
    .meta({ description: 'The first plain arguments on one line, redacted; empty if none are kept.' }),
  judged: Judgement.optional(),
});

export const RefusalGroup = z
  .object({
    ruleId: z.string().optional().meta({ description: 'Absent if a budget, breaker or order refused.' }),
    ruleName: z.string().optional(),
    ruleVersion: z.int().optional(),
    reason: DecisionReason.optional(),
    calls: z.int(),
    runs: z.int(),
    actors: z.int(),
    right: z.int().meta({ description: 'Calls that a person judged to be refused rightly.' }),
    wrong: z.int(),
    firstAt: Instant,
    lastAt: Instant,
    newest: z.array(Refusal).meta({ description: 'At most 20, newest first.' }),
  })
  .meta({ id: 'RefusalGroup' });
export type RefusalGroup = z.infer<typeof RefusalGroup>;

export const RefusalsQuery = consistent(
  z.object({ ruleId: ClientId.optional(), agentId: ClientId.optional(), ...timeRange }),
);
export type RefusalsQuery = z.output<typeof RefusalsQuery>;

export const listRefusals = operation({
  id: 'listRefusals',
  method: 'get',
  path: '/api/refusals',
  tag: 'Decisions',
  summary:
    'Refused calls by the version of the rule that refused them, most calls first: was anyone blocked wrongly? Reads the ' +
    'newest 5,000 refusals of the range (default: the last 24 hours) and returns at most 20 groups.',
  scope: 'read',
  query: RefusalsQuery,
  response: z.object({
    groups: z.array(RefusalGroup),
    complete: z.boolean().meta({ description: 'False if the range has more refusals than were read.' }),
  }),
});

export const JudgementDraft = z.strictObject({
  judgement: z.enum(JUDGEMENTS),
  reason: z.string().trim().max(1_000, 'must be at most 1000 characters').optional(),
});
export type JudgementDraft = z.infer<typeof JudgementDraft>;

export const judgeRefusal = operation({
  id: 'judgeRefusal',
  method: 'post',
  path: '/api/decisions/:id/judgement',
  tag: 'Decisions',
  summary:
    'Judge whether a call was refused rightly. It changes no rule; the latest judgement stands. Recorded in the audit as ' +
    '`decision.judged`.',
  scope: 'review',
  once: true,
  params: IdPath,
  body: JudgementDraft,
  examples: { wrong: { judgement: 'wrong', reason: 'The limit was a typing error' } },
  response: Judgement.extend({ decisionId: z.string() }).meta({ id: 'Judgement' }),
  problems: [404, 422],
});
