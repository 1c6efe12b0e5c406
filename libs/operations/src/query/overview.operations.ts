import { BudgetBalance, ClientId, ControlOrder, Instant } from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation } from '../operation.ts';
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
  perFiveMinutes: z.array(z.int()).length(12).meta({ description: 'Of the last hour, oldest first.' }),
});
export type Firing = z.infer<typeof Firing>;

const RunningAgent = z.object({
  agentId: z.string(),
  runs: z.int(),
  idle: z.int().meta({ description: 'Of those, nothing was heard of for five minutes.' }),
  oldestStartedAt: Instant,
  costUsd: z.number().meta({ description: 'Of its running runs so far.' }),
});
export type RunningAgent = z.infer<typeof RunningAgent>;

const Pulse = z.object({
  asked: z.array(z.int()).length(60).meta({ description: 'Decisions of each minute of the last hour, oldest first.' }),
  blocked: z.array(z.int()).length(60),
  askedHuman: z.array(z.int()).length(60),
  bypassed: z.int().meta({ description: 'Decisions for which a rule could not be evaluated.' }),
  latencyP99Ms: z.number().nullable(),
});
export type Pulse = z.infer<typeof Pulse>;

export const Now = z
  .object({
    approvals: z.array(AlertView).meta({ description: 'Calls that wait for a human, the soonest to expire first.' }),
    openAlerts: z.int().meta({ description: 'Alerts of rules and breakers that nobody has looked at; at most 200.' }),
    orders: z.array(ControlOrder).meta({ description: 'Orders that pause or kill.' }),
    pausedAgents: z.array(Agent),
    openBreakers: z.array(BreakerView),
    firing: z.array(Firing).meta({ description: 'Rules that fired in the last hour, the most severe first.' }),
    running: z.array(RunningAgent),
    spentTodayUsd: z.number().meta({ description: 'Of the day in UTC.' }),
    budgets: z.array(BudgetBalance).meta({ description: 'At most 8, the fullest first.' }),
    pulse: Pulse,
    deliveries: z.object({ settled: z.int(), failed: z.int() }).meta({ description: 'Of the last 24 hours.' }),
    lastEventAt: Instant.nullable(),
  })
  .meta({ id: 'Now' });
export type Now = z.infer<typeof Now>;

export const getNow = operation({
  id: 'getNow',
  method: 'get',
  path: '/api/now',
  tag: 'Now',
  summary:
    'What waits, what is held, what fires, what runs and what is spent: everything somebody on call looks at first.',
  scope: 'read',
  response: Now,
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
    whole: z.boolean().meta({ description: 'Whether it is the id that was asked for, or begins with it.' }),
    name: z.string().optional().meta({ description: 'What people call it, where it has a name.' }),
    runId: z.string().optional().meta({ description: 'The run it belongs to.' }),
    agentId: z.string().optional(),
    at: Instant.optional().meta({ description: 'When it began or happened.' }),
  })
  .meta({ id: 'SearchHit' });
export type SearchHit = z.infer<typeof SearchHit>;

export const searchById = operation({
  id: 'searchById',
  method: 'get',
  path: '/api/search',
  tag: 'Service',
  summary:
    'What an id is: the runs, agents, rules and so on of the tenant that have it, then those whose id begins with it, where ' +
    'it has 6 characters or more (not events). At most 20, of what only begins so at most 10 of a kind. An agent is found by ' +
    'its slug too; triggers and events by ids that carry their time, as those of the platform do.',
  scope: 'read',
  query: z.strictObject({ id: ClientId }),
  response: z.object({ hits: z.array(SearchHit), truncated: z.boolean().meta({ description: 'There are more.' }) }),
});
