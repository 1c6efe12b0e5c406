import {
  ALERT_KINDS,
  ALERT_STATUSES,
  Alert,
  ApprovalCall,
  ApprovalVotes,
  ClientId,
} from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation, VersionHeaders } from '../operation.ts';
import { commaListOf, consistent, IdPath, paging, timeRange } from '../parameters.ts';
import { streamAccess, streamSigns } from '../stream-access.ts';

export const AlertView = Alert.meta({ id: 'Alert' });

export const ALERTS_LIST = 'alerts';

/** People who may decide may read. */
const READING = { scope: ['read', 'review'] } as const;

const narrowing = {
  status: commaListOf(ALERT_STATUSES).optional(),
  kind: commaListOf(ALERT_KINDS).optional(),
  agentId: ClientId.optional(),
  runId: ClientId.optional(),
};

export const AlertFilter = consistent(
  z.object({ ...narrowing, ruleId: ClientId.optional(), ...timeRange, ...paging(ALERTS_LIST, 200) }),
);
export type AlertFilter = z.output<typeof AlertFilter>;

export const listAlerts = operation({
  id: 'listAlerts',
  method: 'get',
  path: '/api/alerts',
  tag: 'Alerts',
  summary: 'Alerts, newest first: approvals, opened circuit breakers, alerts of rules, what is unlike before.',
  ...READING,
  query: AlertFilter,
  response: z.object({ alerts: z.array(AlertView), hasMore: z.boolean(), nextCursor: z.string().optional() }),
});

export const getAlert = operation({
  id: 'getAlert',
  method: 'get',
  path: '/api/alerts/:id',
  tag: 'Alerts',
  summary: 'One alert.',
  ...READING,
  params: IdPath,
  versioned: true,
  response: AlertView,
  problems: [404],
});

export const getAlertCall = operation({
  id: 'getAlertCall',
  method: 'get',
  path: '/api/alerts/:id/call',
  tag: 'Alerts',
  summary:
    'The whole call of an approval, redacted. `arguments` is JSON text with numbers as they were ' +
    'written. An incomplete call (`cut`) cannot be approved.',
  scope: 'review',
  params: IdPath,
  response: ApprovalCall.extend({
    alertId: z.string(),
    toolName: z.string(),
    argsHash: z
      .string()
      .meta({ description: 'SHA-256 of the unredacted arguments: the approval covers exactly these.' }),
  }).meta({ id: 'ApprovalCall' }),
  problems: [404],
});

const reason = z.string().max(1_000, 'must be at most 1000 characters');

export const getAlertVotes = operation({
  id: 'getAlertVotes',
  method: 'get',
  path: '/api/alerts/:id/votes',
  tag: 'Alerts',
  summary: 'Votes of an approval, what is still missing, and whether the caller may vote and why not.',
  ...READING,
  params: IdPath,
  response: ApprovalVotes.meta({ id: 'ApprovalVotes' }),
  problems: [404],
});

const deciding = {
  method: 'post',
  tag: 'Alerts',
  scope: 'review',
  once: true,
  params: IdPath,
  headers: VersionHeaders,
  body: z
    .strictObject({
      reason: reason.optional(),
      callHash: z
        .string()
        .max(128)
        .optional()
        .meta({ description: '`argsHash` of the call that was shown: 412 if the approval is about another.' }),
    })
    .default({}),
  versioned: true,
  response: AlertView,
} as const;

export const acknowledgeAlert = operation({
  id: 'acknowledgeAlert',
  ...deciding,
  path: '/api/alerts/:id/acknowledge',
  summary: 'Acknowledge an alert. This does not decide an approval. The first acknowledgement stands.',
  problems: [404, 409, 412],
});

export const approveAlert = operation({
  id: 'approveAlert',
  ...deciding,
  path: '/api/alerts/:id/approve',
  summary:
    'Approve exactly this call, once. Stays pending if the policy needs more votes. 409 names an earlier decision.',
  problems: [404, 409, 412, 422],
});

export const denyAlert = operation({
  id: 'denyAlert',
  ...deciding,
  path: '/api/alerts/:id/deny',
  summary: 'Deny the call. 409 names an earlier decision.',
  problems: [404, 409, 412, 422],
});

export const cancelAlert = operation({
  id: 'cancelAlert',
  ...deciding,
  path: '/api/alerts/:id/cancel',
  summary: 'Close the alert without a decision. A waiting call is blocked as cancelled.',
  problems: [404, 409, 412],
});

/** Position of an alert in the broker's stream. */
const LastEventId = z
  .string()
  .regex(
    /^\d{1,16}$/,
    'is not the id of a frame of this stream; send the last one received, or omit it to start from now',
  )
  .transform(Number)
  .refine(Number.isSafeInteger, 'is not the id of a frame of this stream')
  .meta({ type: 'string', pattern: '^\\d{1,16}$' });

const AlertStreamQuery = z.object({
  ...streamAccess,
  ...narrowing,
  lastEventId: LastEventId.optional().meta({
    description: 'Same as the header Last-Event-ID, which takes precedence.',
  }),
});
export type AlertStreamFilter = Pick<z.output<typeof AlertStreamQuery>, keyof typeof narrowing>;

const AlertStreamHeaders = z.object({ 'last-event-id': LastEventId.optional() });

export const openAlertStream = operation({
  id: 'openAlertStream',
  method: 'get',
  path: '/api/alerts/stream',
  tag: 'Alerts',
  summary:
    'Server-sent events, live: `alert` with the whole alert at every change, and a heartbeat immediately and every ' +
    '30 s. Resume without a gap with Last-Event-ID.',
  ...READING,
  query: AlertStreamQuery,
  headers: AlertStreamHeaders,
  response: z.string(),
  contentType: 'text/event-stream',
  frames: { alert: AlertView, ...streamSigns },
  queryToken: true,
});
