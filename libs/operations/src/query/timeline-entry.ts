import { Instant } from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { AlertView } from './alert-view.ts';
import { BreakerView } from './breakers.operations.ts';
import { DecisionView } from './decision-view.ts';
import { OrderView } from './order-view.ts';
import { StoredEvent } from './stored-event.ts';
import { TriggerView } from './trigger-view.ts';

/** What happened to an alert: it was opened, somebody looked at it, it came to its end, the approved call went ahead. */
const ALERT_MOMENTS = ['opened', 'acknowledged', 'decided', 'used'] as const;
export type AlertMoment = (typeof ALERT_MOMENTS)[number];

/** One thing that happened in or to a run. */
export const TimelineEntry = z
  .discriminatedUnion('type', [
    z.object({ type: z.literal('event'), at: Instant, event: StoredEvent }),
    z.object({ type: z.literal('decision'), at: Instant, decision: DecisionView }),
    z.object({ type: z.literal('trigger'), at: Instant, trigger: TriggerView }),
    z.object({ type: z.literal('alert'), at: Instant, moment: z.enum(ALERT_MOMENTS), alert: AlertView }),
    z.object({ type: z.literal('order'), at: Instant, order: OrderView }),
    z.object({ type: z.literal('breaker'), at: Instant, breaker: BreakerView }),
  ])
  .meta({ id: 'TimelineEntry' });
export type TimelineEntry = z.infer<typeof TimelineEntry>;

/** One thing of a run as a row of a long list shows it: what it was, not what the agent's events say. */
export const LightTimelineEntry = z
  .object({
    type: z.enum(['event', 'decision', 'trigger', 'alert', 'order', 'breaker']),
    at: Instant,
    id: z.string(),
    agentId: z.string().optional(),
    kind: z.string().optional().meta({ description: 'Of an event or alert; of a decision its phase.' }),
    name: z.string().optional().meta({ description: 'Tool, model, rule or title; else the name of the event type.' }),
    callId: z.string().optional(),
    isError: z.boolean().optional(),
    status: z.string().optional().meta({ description: 'Of an alert, an order, a breaker or the action of a trigger.' }),
    moment: z.enum(ALERT_MOMENTS).optional(),
    verdict: z.string().optional(),
    effect: z.string().optional().meta({ description: 'Of a decision: what was done to the call.' }),
    wouldHave: z.string().optional().meta({
      description: 'Of a decision: what would have been done with rules in shadow enforced too, where that is more.',
    }),
    control: z.string().optional().meta({ description: 'Of a decision: CONTINUE or TERMINATE.' }),
    reason: z.string().optional().meta({ description: 'Of a decision: what settled it.' }),
    approvalId: z.string().optional(),
    inputsDigest: z.string().optional().meta({ description: 'Of a decision: equal calls have equal ones.' }),
    message: z.string().optional().meta({
      description: 'Of a decision, trigger, order or breaker: what it said, its first 300 characters.',
    }),
    by: z.string().optional().meta({ description: 'Who gave the order.' }),
    durationMs: z.number().optional(),
    tokens: z.number().optional(),
    costUsd: z.number().optional(),
    contentExpired: z.literal(true).optional(),
  })
  .meta({ id: 'LightTimelineEntry' });
export type LightTimelineEntry = z.infer<typeof LightTimelineEntry>;
