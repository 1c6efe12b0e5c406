import { BudgetBalance, ClientId, ControlOrder, Instant } from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation } from '../operation.ts';
import { consistent, timeRange, wholeNumber } from '../parameters.ts';
import { Agent } from './agents.operations.ts';
import { AlertView } from './alerts.operations.ts';
import { BreakerView } from './breakers.operations.ts';

const Firing = z.object({
  ruleId: z.string(),
  name: z.string(),
  actionType: z.string(),
  shadow: z.boolean(),
  times: z.int(),
  runs: z.int(),
  lastAt: Instant,
  perFiveMinutes: z.array(z.int()).length(12).meta({ description: 'Last hour, oldest first.' }),
});
export type Firing = z.infer<typeof Firing>;

const RunningAgent = z.object({
  agentId: z.string(),
  runs: z.int(),
  idle: z.int().meta({ description: 'Running runs without an event for five minutes.' }),
  oldestStartedAt: Instant,
  costUsd: z.number().meta({ description: 'Cost of running runs so far.' }),
});
export type RunningAgent = z.infer<typeof RunningAgent>;

const Pulse = z.object({
  asked: z.array(z.int()).length(60).meta({ description: 'Decisions per minute of the last hour, oldest first.' }),
  blocked: z.array(z.int()).length(60),
  askedHuman: z.array(z.int()).length(60),
  bypassed: z.int().meta({ description: 'Decisions for which a rule could not be evaluated.' }),
  latencyP99Ms: z.number().nullable(),
});
export type Pulse = z.infer<typeof Pulse>;

const counts = {
  asked: z.int().meta({ description: 'Calls for which the rule was enforced since its last change.' }),
  stopped: z.int().meta({ description: 'Those that it blocked, ended or held for approval.' }),
  askedBefore: z.int().meta({ description: 'The same in the day before the change.' }),
  stoppedBefore: z.int(),
};

const Unusual = z.object({
  changedRules: z
    .array(
      z.object({
        ...{ ruleId: z.string(), name: z.string(), version: z.int(), changedAt: Instant },
        changedBy: z.string().nullable(),
        agentId: z.string().optional().meta({ description: 'Of a rule for one agent.' }),
        ruleset: z.string().optional().meta({ description: 'Whose files manage the rule.' }),
        ...counts,
        deploy: z.string().optional().meta({ description: 'A deploy in the half hour before the change.' }),
      }),
    )
    .meta({ description: 'Rules that stop at least three times as much since they changed, within a day.' }),
  spend: z
    .object({ usd: z.number(), usualUsd: z.number(), of: z.enum(['this hour', 'last day']) })
    .nullable()
    .meta({
      description:
        'Spend of the last hour, if it is at least five times the usual: the median of the same hour of the last seven ' +
        'days, or the mean hour of the last day.',
    }),
  errors: z
    .object({ errors: z.int(), usualErrors: z.number(), of: z.enum(['this hour', 'last day']) })
    .nullable()
    .meta({ description: 'The same of failed events, from 20 on.' }),
  loops: z
    .array(
      z.object({
        ...{ runId: z.string(), agentId: z.string(), toolName: z.string(), times: z.int(), since: Instant },
      }),
    )
    .meta({ description: 'Runs that repeat one call with the same arguments, at least 15 times in the last hour.' }),
  unanswerable: z.int().meta({ description: 'Approvals that wait although their run does not.' }),
});
export type Unusual = z.infer<typeof Unusual>;

export const Now = z
  .object({
    approvals: z.array(AlertView).meta({ description: 'Calls that need approval, soonest to expire first.' }),
    openAlerts: z.int().meta({ description: 'Unacknowledged alerts of rules and breakers; at most 200.' }),
    orders: z.array(ControlOrder).meta({
      description: 'Orders that pause or kill agents or everything, and those for runs of the last 24 hours.',
    }),
    pausedAgents: z.array(Agent),
    openBreakers: z.array(BreakerView),
    firing: z.array(Firing).meta({ description: 'Rules that fired in the last hour, most severe first.' }),
    running: z.array(RunningAgent),
    spentTodayUsd: z.number().meta({ description: 'Spend of the UTC day.' }),
    budgets: z.array(BudgetBalance).meta({ description: 'At most 50, highest share first.' }),
    pulse: Pulse,
    deliveries: z.object({ settled: z.int(), failed: z.int() }).meta({ description: 'Last 24 hours.' }),
    lag: z
      .array(z.object({ group: z.string(), oldestAgeMs: z.number() }))
      .nullable()
      .meta({ description: 'Age of the oldest unsettled message of each consumer. Null: the broker does not answer.' }),
    lastEventAt: Instant.nullable(),
    unusual: Unusual.meta({ description: 'What differs from before.' }),
  })
  .meta({ id: 'Now' });
export type Now = z.infer<typeof Now>;

export const getNow = operation({
  id: 'getNow',
  method: 'get',
  path: '/api/now',
  tag: 'Now',
  summary: 'Current situation: approvals, stopped agents, firing rules, running runs and spend.',
  scope: 'read',
  response: Now,
});

/**
 * Three characters, or two of which one is not ASCII, because a word of a script such as Han is often that short. Spaces
 * around the text do not count. The database cannot compare with NUL.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: NUL is exactly what is refused
const SEARCHABLE = /^\s*(?:[^\s\u0000][^\u0000]+[^\s\u0000]|(?=.*[^\u0000-\u007f])[^\s\u0000]{2})\s*$/u;

export const TextSearchQuery = consistent(
  z.object({
    text: z
      .string()
      .trim()
      .max(200, 'must be at most 200 characters')
      .regex(SEARCHABLE, 'must be at least 3 characters, or 2 of which one is not ASCII'),
    agentId: ClientId.optional(),
    runId: ClientId.optional(),
    ...timeRange,
    limit: wholeNumber(1, 100, 20),
  }),
);
export type TextSearchQuery = z.output<typeof TextSearchQuery>;

const TextHit = z
  .object({
    runId: z.string(),
    agentId: z.string(),
    eventId: z.string(),
    at: Instant,
    kind: z.string(),
    name: z.string().optional().meta({ description: 'Tool or model.' }),
    callId: z.string().optional(),
    isError: z.boolean(),
    excerpt: z.string().meta({ description: 'The text around the match.' }),
  })
  .meta({ id: 'TextHit' });
export type TextHit = z.infer<typeof TextHit>;

export const searchText = operation({
  id: 'searchText',
  method: 'get',
  path: '/api/search/text',
  tag: 'Service',
  summary:
    'Events whose prompts, answers, arguments, results or errors contain a text, newest first. The text may be any part of ' +
    'a word or several words, in any case and with accents in any composition; texts inside JSON texts are found as ' +
    'they read. Contents past their retention are not found. Reads backwards from the end of the range ' +
    '(default: the last 7 days) for at most 3 seconds; if it did not reach the start, ask again with `to` set to ' +
    '`searchedFrom`.',
  scope: 'read',
  query: TextSearchQuery,
  response: z.object({
    hits: z.array(TextHit),
    searchedFrom: Instant.meta({
      description: 'Everything after this instant was searched, or the limit was reached.',
    }),
    complete: z.boolean().meta({ description: 'True if the whole range was searched.' }),
  }),
});

const KINDS = [
  'run',
  'agent',
  'conversation',
  'rule',
  'trigger',
  'decision',
  'alert',
  'delivery',
  'budget',
  'event',
] as const;

const SearchHit = z
  .object({
    kind: z.enum(KINDS),
    id: z.string(),
    whole: z.boolean().meta({ description: 'True if the id equals the query; false if it starts with it.' }),
    name: z.string().optional().meta({ description: 'Display name, if any.' }),
    runId: z.string().optional().meta({ description: 'Its run.' }),
    agentId: z.string().optional(),
    at: Instant.optional().meta({ description: 'Time of start or occurrence.' }),
  })
  .meta({ id: 'SearchHit' });
export type SearchHit = z.infer<typeof SearchHit>;

export const searchById = operation({
  id: 'searchById',
  method: 'get',
  path: '/api/search',
  tag: 'Service',
  summary:
    'Find objects by id: exact matches first, then ids that start with the query, if it ' +
    'has at least 6 characters (not events). At most 20 hits, at most 10 prefix matches per kind. Agents are also found by ' +
    "slug; triggers and events only by ids that contain their time, such as the platform's.",
  scope: 'read',
  query: z.strictObject({ id: ClientId }),
  response: z.object({
    hits: z.array(SearchHit),
    truncated: z.boolean().meta({ description: 'True if there are more.' }),
  }),
});
