import {
  BreakerChanged,
  Budget,
  ClientId,
  COMPARISON_WORDS,
  ControlOrder,
  Decision,
  DeliverySettled,
  Instant,
  RulesChanged,
} from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation } from '../operation.ts';
import { CommaList, commaListOf } from '../parameters.ts';
import { StreamTicketAnswer, streamAccess, streamSigns } from '../stream-access.ts';
import { AlertView } from './alerts.operations.ts';
import { AuditEntry } from './audit.operations.ts';
import { StoredEvent } from './events.operations.ts';
import { Session } from './sessions.operations.ts';

/** Default kinds. */
export const USUAL_KINDS = ['event', 'session_update', 'alert'] as const;

/** Kinds that forward a topic from now on; they cannot be resumed. */
export const FACT_KINDS = ['alert_changed', 'decision', 'delivery', 'order', 'breaker', 'rule'] as const;
export type FactKind = (typeof FACT_KINDS)[number];

/** Kinds polled every two seconds; they cannot be resumed either. `audit` needs the scope `admin`. */
export const RECORD_KINDS = ['budget', 'audit'] as const;

const STREAM_KINDS = [...USUAL_KINDS, ...FACT_KINDS, ...RECORD_KINDS] as const;

/**
 * Position of a client: for agent events the batch (its sequence) and the number of its events, for triggers the
 * sequence. Sequences are the broker's, so any instance can resume.
 */
export interface StreamPosition {
  readonly batch: number;
  readonly events: number;
  readonly trigger: number;
}

export const BEGINNING: StreamPosition = { batch: 0, events: 0, trigger: 0 };

const FORM = /^(\d{1,16})\.(\d{1,6})-(\d{1,16})$/;

/** The `id:` of a frame. */
export function frameId(position: StreamPosition): string {
  return `${position.batch}.${position.events}-${position.trigger}`;
}

/** Parses a frame id; null if it is invalid. */
export function parsePosition(id: string): StreamPosition | null {
  const [, batch, events, trigger] = (FORM.exec(id) ?? []).map(Number);
  if (batch === undefined || events === undefined || trigger === undefined) return null;
  return Number.isSafeInteger(batch) && Number.isSafeInteger(trigger) ? { batch, events, trigger } : null;
}

/** Id of the last received frame. */
const LastEventId = z
  .string()
  .transform((text, context): StreamPosition => {
    const position = parsePosition(text);
    if (position !== null) return position;
    context.addIssue({
      code: 'custom',
      message: 'is not the id of a frame of this stream; send the last one received, or omit it to start from now',
    });
    return z.NEVER;
  })
  .meta({ type: 'string', pattern: '^\\d{1,16}\\.\\d{1,6}-\\d{1,16}$' });

const StreamQuery = z.object({
  ...streamAccess,
  sessionId: ClientId.optional(),
  agentId: ClientId.optional(),
  eventType: CommaList.optional().meta({ description: 'Comma-separated list; filters frames of kind `event`.' }),
  kinds: commaListOf(STREAM_KINDS)
    .optional()
    .meta({
      description:
        `Kinds of frames to send; default ${USUAL_KINDS.join(', ')}. Other kinds start from now ` +
        'and cannot be resumed: reload after a gap. `budget` and `audit` arrive within seconds; `audit` needs the scope ' +
        '`admin`.',
    }),
  lastEventId: LastEventId.optional().meta({
    description: 'Same as the header Last-Event-ID, which takes precedence.',
  }),
});
export type StreamFilter = Pick<z.output<typeof StreamQuery>, 'sessionId' | 'agentId' | 'eventType' | 'kinds'>;

const StreamHeaders = z.object({ 'last-event-id': LastEventId.optional() });

/** A trigger in the AgentLens format (up to `triggeredAt`), with additional members. */
export const TriggerNotice = z
  .object({
    ruleId: z.string(),
    name: z.string(),
    currentValue: z.number(),
    threshold: z.number(),
    comparison: z.enum(COMPARISON_WORDS).nullable(),
    message: z.string(),
    triggeredAt: Instant,
    triggerId: z.string(),
    agentId: z.string(),
    sessionId: z.string().nullable(),
    eventId: z.string().nullable(),
    actionType: z.string(),
    dryRun: z.boolean(),
  })
  .meta({ id: 'TriggerNotice' });
export type TriggerNotice = z.infer<typeof TriggerNotice>;

/** Data of kinds that cannot be resumed, as in their topics. */
const facts = {
  alert_changed: AlertView,
  decision: Decision,
  delivery: DeliverySettled,
  order: ControlOrder,
  breaker: BreakerChanged,
  rule: RulesChanged,
} satisfies Readonly<Record<FactKind, z.ZodType>>;
/** A budget pot that reached 80 % or 100 % of its limit. */
const BudgetNotice = z
  .object({
    budget: Budget,
    scopeId: z.string().meta({ description: 'Owner of the pot, for example the agent.' }),
    periodStart: z.iso.date(),
    spentUsd: z.number(),
    share: z.number().meta({ description: 'Highest share reached: 0.8 or 1.' }),
    at: Instant.meta({ description: 'Since when.' }),
  })
  .meta({ id: 'BudgetNotice' });

export const createStreamTicket = operation({
  id: 'createStreamTicket',
  method: 'post',
  path: '/api/stream/tickets',
  tag: 'Stream',
  summary:
    'Create a ticket that opens event streams with `?ticket=` within a minute, for clients that cannot send headers. No body.',
  scope: 'read',
  once: true,
  status: 201,
  response: StreamTicketAnswer,
});

export const openStream = operation({
  id: 'openStream',
  method: 'get',
  path: '/api/stream',
  tag: 'Stream',
  summary:
    'Server-sent events, live: event, session_update, alert (or the given `kinds`), and a heartbeat immediately and every ' +
    '30 s. Resume without a gap with ' +
    'Last-Event-ID. `dropped` reports how much a slow reader missed, `closed` why the stream ended.',
  scope: 'read',
  query: StreamQuery,
  headers: StreamHeaders,
  response: z.string(),
  contentType: 'text/event-stream',
  frames: {
    event: StoredEvent,
    session_update: Session,
    alert: TriggerNotice,
    ...facts,
    budget: BudgetNotice,
    audit: AuditEntry,
    ...streamSigns,
  },
  queryToken: true,
});
