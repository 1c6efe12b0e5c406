import { z } from 'zod';
import { JsonObject } from './events.ts';
import { ClientId, Instant, TenantId } from './ids.ts';

export const BACKTEST_STATUSES = ['queued', 'running', 'succeeded', 'partial', 'failed', 'cancelled'] as const;

const Time = z.iso.datetime({ offset: true, error: 'must be a time like 2026-03-01T00:00:00Z' });

/** Body of `POST /api/backtests`. */
export const BacktestDraft = z
  .strictObject({
    /** A draft, as in `POST /api/guardrails`. */
    rule: JsonObject.optional(),
    /** A stored rule, or with `rule` the one that the draft would replace. */
    ruleId: z.string().min(1).max(100).optional(),
    /** A draft to compare with, instead of the version in force. */
    against: JsonObject.optional(),
    /** A version of the stored rule; the current one by default. */
    version: z.int().min(1).optional(),
    /** By default seven days before `to`. */
    from: Time.optional(),
    /** By default now. */
    to: Time.optional(),
    /** By default every agent. */
    agentIds: z.array(ClientId).min(1).max(100).optional(),
    /** Whether calls that the rule would have stopped count in what it reads of later calls. */
    assume: z.enum(['as_happened', 'as_if_enforced']).default('as_happened'),
  })
  .superRefine(({ rule, ruleId, version, from, to }, context) => {
    const refuse = (path: string, message: string) => context.addIssue({ code: 'custom', path: [path], message });
    if (rule === undefined && ruleId === undefined)
      refuse('rule', 'send a draft as "rule", or the id of a rule as "ruleId"');
    if (version !== undefined && (ruleId === undefined || rule !== undefined))
      refuse('version', 'is only possible with "ruleId" and without "rule"');
    if (from !== undefined && to !== undefined && Date.parse(from) >= Date.parse(to))
      refuse('to', 'must be after "from"');
  });
export type BacktestDraft = z.output<typeof BacktestDraft>;

const counts = {
  asked: z.int().meta({ description: 'Calls the rule would have been evaluated for.' }),
  blocked: z.int().meta({ description: 'Calls it would have blocked or whose run it would have ended.' }),
  wouldAsk: z.int().meta({ description: 'Calls it would have held for approval.' }),
  triggers: z.int().meta({ description: 'Triggers of a rule on events.' }),
  undecided: z.int().meta({ description: 'Calls that cannot be judged, because what the rule reads is not kept.' }),
};
const Group = z.object({ name: z.string(), ...counts });

export const BacktestExample = z.object({
  kind: z.enum(['trigger', 'block', 'ask', 'modify', 'miss']),
  at: Instant,
  agentId: z.string(),
  runId: z.string().optional(),
  toolName: z.string().optional(),
  callId: z.string().optional(),
  decisionId: z.string().optional(),
  triggerId: z.string().optional(),
  message: z.string(),
  /** What followed: nothing bad, something bad, or not known. */
  outcome: z.enum(['harmless', 'harmful', 'unknown']),
});
export type BacktestExample = z.infer<typeof BacktestExample>;

export const BacktestResult = z.object({
  range: z.object({
    from: Instant,
    to: Instant,
    warmUpFrom: Instant,
    clampedFrom: Instant.optional().meta({ description: 'The requested start, if it is before what is retained.' }),
  }),
  ...counts,
  modified: z.int(),
  days: z.array(Group.extend({ falseRejections: z.int() })).meta({ description: 'By UTC day, oldest first.' }),
  tools: z.array(Group).meta({ description: 'The 20 with the most stops.' }),
  agents: z.array(Group).meta({ description: 'The 20 with the most stops.' }),
  runs: z.array(Group).meta({ description: 'The 20 with the most stops.' }),
  affectedRuns: z.int(),
  falseRejections: z.object({
    count: z.int().meta({ description: 'Stopped calls that succeeded and after which nothing went wrong.' }),
    judged: z.int().meta({ description: 'Stopped calls whose outcome is known.' }),
    rate: z.number().nullable().meta({ description: 'Share of all asked calls. Null while none is judged.' }),
  }),
  misses: z.object({
    count: z.int().meta({ description: 'Runs that were killed, failed or flagged and that the rule does not touch.' }),
    of: z.int().meta({ description: 'All such runs, at most 10,000.' }),
  }),
  compared: z
    .object({
      version: z
        .int()
        .optional()
        .meta({ description: 'The version in force. Absent if it is a draft, sent as "against".' }),
      ...{ same: z.int(), onlyDraft: z.int(), onlyInForce: z.int() },
    })
    .nullable()
    .meta({
      description: 'Difference to the version in force, or to the draft sent as "against". Null without either.',
    }),
  happened: z
    .object({
      triggers: z.int().meta({ description: 'Triggers of the rule that were recorded, dry runs included.' }),
      stopped: z.int().meta({ description: 'Calls that the rule refused, ended or put before a person.' }),
    })
    .optional()
    .meta({
      description:
        'What the stored rule ("ruleId") did in this range, by whichever version was in force. Absent for a draft.',
    }),
  saved: z.object({
    afterStopUsd: z.number().meta({ description: 'Cost of the affected runs after their first stop: an upper bound.' }),
    basis: z.string(),
  }),
  coverage: z.object({
    percent: z.number().meta({ description: 'Share of the asked calls that could be judged.' }),
    causes: z.array(z.object({ cause: z.string(), calls: z.int() })),
  }),
  exact: z.boolean(),
  why: z.array(z.string()).meta({ description: 'Why the result may differ from live evaluation.' }),
});
export type BacktestResult = z.infer<typeof BacktestResult>;

export const BacktestProgress = z.object({
  events: z.int(),
  decisions: z.int(),
  /** The time up to which history has been read. */
  readTo: Instant.optional(),
  perSecond: z.int(),
});
export type BacktestProgress = z.infer<typeof BacktestProgress>;

/** A job that evaluates a rule over stored history. */
export const Backtest = z.object({
  id: z.string(),
  tenantId: TenantId,
  status: z.enum(BACKTEST_STATUSES),
  ruleName: z.string(),
  ruleId: z.string().optional(),
  spec: z.object({
    from: Instant,
    to: Instant,
    agentIds: z.array(z.string()).optional(),
    assume: z.enum(['as_happened', 'as_if_enforced']),
    version: z.int().optional(),
  }),
  progress: BacktestProgress,
  result: BacktestResult.optional(),
  /** Why it failed. */
  error: z.string().optional(),
  createdBy: z.string().optional(),
  createdAt: Instant,
  startedAt: Instant.optional(),
  finishedAt: Instant.optional(),
});
export type Backtest = z.infer<typeof Backtest>;
