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
import { AlertView } from './alerts.operations.ts';
import { AuditEntry } from './audit.operations.ts';
import { StoredEvent } from './events.operations.ts';
import { Session } from './sessions.operations.ts';

/** How a client that cannot send headers says who it is when it opens an event stream. */
export const streamAccess = {
  token: z.string().optional().meta({ description: 'The API key, where a header cannot be sent. Better: `ticket`.' }),
  ticket: z.string().optional().meta({ description: 'A ticket for event streams, instead of the API key.' }),
};

export const StreamTicketAnswer = z
  .object({
    ticket: z.string().meta({ description: 'For `?ticket=`: it stands for the key that asked for it.' }),
    expiresAt: Instant.meta({ description: 'A minute from now. Streams that are open by then go on.' }),
  })
  .meta({ id: 'StreamTicket' });

/** The stream lives; the frame's id is where to resume. */
export const Heartbeat = z.object({ time: Instant });

/** The server ends the stream after this frame. */
export const StreamClosed = z.object({ reason: z.string() });

/** What every live stream of the query service carries beside its own frames. */
export const streamSigns = {
  heartbeat: Heartbeat,
  dropped: z
    .object({ count: z.int(), lastEventId: z.string().nullable() })
    .meta({ description: 'Frames a slow reader missed, and the id to resume from to get them.' }),
  closed: StreamClosed,
};

/** What a client gets that does not choose. */
export const USUAL_KINDS = ['event', 'session_update', 'alert'] as const;

/** Frames that say what their topic says, from now on: nothing of these kinds is resumed. */
export const FACT_KINDS = ['alert_changed', 'decision', 'delivery', 'order', 'breaker', 'rule'] as const;
export type FactKind = (typeof FACT_KINDS)[number];

/** Frames of what is read from the record every two seconds: not resumed either. `audit` is for admins only. */
export const RECORD_KINDS = ['budget', 'audit'] as const;

const STREAM_KINDS = [...USUAL_KINDS, ...FACT_KINDS, ...RECORD_KINDS] as const;

/**
 * How far a client has read: of the agent events, the batch (its sequence in the stream) and how many of its events; of the
 * triggers, the sequence. Sequences are the broker's, so any instance can go on where another one stopped.
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

/** The position a frame id names, or null where the text is none. */
export function parsePosition(id: string): StreamPosition | null {
  const [, batch, events, trigger] = (FORM.exec(id) ?? []).map(Number);
  if (batch === undefined || events === undefined || trigger === undefined) return null;
  return Number.isSafeInteger(batch) && Number.isSafeInteger(trigger) ? { batch, events, trigger } : null;
}

/** Where to go on: the `id` of the last frame a client got. */
const LastEventId = z
  .string()
  .transform((text, context): StreamPosition => {
    const position = parsePosition(text);
    if (position !== null) return position;
    context.addIssue({
      code: 'custom',
      message: 'is not the id of a frame of this stream; send the last one you got, or none to start from now',
    });
    return z.NEVER;
  })
  .meta({ type: 'string', pattern: '^\\d{1,16}\\.\\d{1,6}-\\d{1,16}$' });

const StreamQuery = z.object({
  ...streamAccess,
  sessionId: ClientId.optional(),
  agentId: ClientId.optional(),
  eventType: CommaList.optional().meta({ description: 'Comma-separated list; narrows the frames of kind `event`.' }),
  kinds: commaListOf(STREAM_KINDS)
    .optional()
    .meta({
      description:
        `The kinds of frames to send; without it ${USUAL_KINDS.join(', ')}. The others say what happened from now on ` +
        'and are not resumed: read again after a gap. `budget` and `audit` come within seconds; `audit` needs the scope ' +
        '`admin`.',
    }),
  lastEventId: LastEventId.optional().meta({ description: 'Like the header Last-Event-ID, which wins.' }),
});
export type StreamFilter = Pick<z.output<typeof StreamQuery>, 'sessionId' | 'agentId' | 'eventType' | 'kinds'>;

const StreamHeaders = z.object({ 'last-event-id': LastEventId.optional() });

/** A trigger as AgentLens clients read it (to `triggeredAt`), then more of it. */
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

/** What the frames of the kinds carry that are not resumed: the facts as their topics say them. */
const facts = {
  alert_changed: AlertView,
  decision: Decision,
  delivery: DeliverySettled,
  order: ControlOrder,
  breaker: BreakerChanged,
  rule: RulesChanged,
} satisfies Readonly<Record<FactKind, z.ZodType>>;
/** A pot of a budget that reached 80 % or all of its limit. */
const BudgetNotice = z
  .object({
    budget: Budget,
    scopeId: z.string().meta({ description: 'Whose pot: of a budget for each agent the agent, and so on.' }),
    periodStart: z.iso.date(),
    spentUsd: z.number(),
    share: z.number().meta({ description: 'The greatest share that was reached: 0.8 or 1.' }),
    at: Instant.meta({ description: 'Since when.' }),
  })
  .meta({ id: 'BudgetNotice' });

export const createStreamTicket = operation({
  id: 'createStreamTicket',
  method: 'post',
  path: '/api/stream/tickets',
  tag: 'Stream',
  summary: 'A ticket to open event streams with `?ticket=` for a minute, where a header cannot be sent. No body.',
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
    'Server-sent events, live: event, session_update, alert (or the `kinds` asked for), and heartbeat at once and every ' +
    '30 s. Frames carry ids; ' +
    'Last-Event-ID resumes without a gap. `dropped` says how much a slow reader missed, `closed` why the stream ended.',
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
