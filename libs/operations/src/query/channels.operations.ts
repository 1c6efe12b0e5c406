import {
  ALERT_LABELS,
  AlertNotices,
  ChannelDraft,
  ChannelId,
  ChannelView,
  Instant,
  NOTICE_STATUSES,
  RoutingAnswer,
  RoutingDocument,
  RoutingProblem,
  Silence,
  SilenceDraft,
  StoredRouting,
} from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation, VersionHeaders } from '../operation.ts';
import { IdPath } from '../parameters.ts';

const TAG = 'Channels';
const ChannelPath = z.object({ id: ChannelId });
const Channel = ChannelView.meta({ id: 'Channel' });
const SilenceView = Silence.meta({ id: 'Silence' });
const Document = RoutingDocument.meta({ id: 'RoutingDocument' });

export const listChannels = operation({
  id: 'listChannels',
  method: 'get',
  path: '/api/channels',
  tag: TAG,
  summary: 'Channels of the tenant with the last answer of their receivers. Secrets are never returned.',
  scope: 'read',
  response: z.object({ channels: z.array(Channel) }),
});

export const getChannel = operation({
  id: 'getChannel',
  method: 'get',
  path: '/api/channels/:id',
  tag: TAG,
  summary: 'One channel.',
  scope: 'read',
  params: ChannelPath,
  versioned: true,
  response: Channel,
  problems: [404],
});

export const setChannel = operation({
  id: 'setChannel',
  method: 'put',
  path: '/api/channels/:id',
  tag: TAG,
  summary: 'Create or replace a channel. Without `config` the stored one stays, secrets included.',
  scope: 'admin',
  params: ChannelPath,
  headers: VersionHeaders,
  body: ChannelDraft.meta({ id: 'ChannelDraft' }),
  examples: {
    slack: { config: { kind: 'slack_webhook', url: 'https://hooks.slack.com/services/T000/B000/XXXX' } },
    mail: { config: { kind: 'email', host: 'smtp.example.com', from: 'lens@example.com', to: ['ops@example.com'] } },
  },
  versioned: true,
  response: Channel,
  problems: [412, 422],
});

export const deleteChannel = operation({
  id: 'deleteChannel',
  method: 'delete',
  path: '/api/channels/:id',
  tag: TAG,
  summary: 'Delete a channel and discard queued notices. 409 while a route or another channel names it.',
  scope: 'admin',
  params: ChannelPath,
  headers: VersionHeaders,
  response: z.object({ id: z.string(), deleted: z.literal(true) }),
  problems: [404, 409, 412],
});

export const testChannel = operation({
  id: 'testChannel',
  method: 'post',
  path: '/api/channels/:id/test',
  tag: TAG,
  summary: 'Send a test through the queue, and wait up to four seconds for the answer of the receiver.',
  scope: 'operate',
  once: true,
  params: ChannelPath,
  response: z.object({
    accepted: z.boolean().meta({ description: 'Every recipient has accepted the test.' }),
    deliveries: z.array(
      z.object({
        id: z.string(),
        status: z.enum(NOTICE_STATUSES),
        receipt: z.string().optional(),
        detail: z.string().optional(),
      }),
    ),
  }),
  problems: [404],
});

export const getRoutes = operation({
  id: 'getRoutes',
  method: 'get',
  path: '/api/routes',
  tag: TAG,
  summary: 'The routes of alerts. Version 0: none were saved, and alerts go to no channel.',
  scope: 'read',
  versioned: true,
  response: StoredRouting.extend({
    savedAt: Instant.nullable(),
    document: Document.nullable().meta({ description: 'Null: none was saved, or it cannot be read.' }),
    problems: z
      .array(RoutingProblem.meta({ id: 'RoutingProblem' }))
      .meta({ description: 'What cannot be read. Alerts that such a route would take go to the route above it.' }),
  }),
});

export const setRoutes = operation({
  id: 'setRoutes',
  method: 'put',
  path: '/api/routes',
  tag: TAG,
  summary:
    'Replace the routes. Alerts that fire move to their new channels; the old ones are informed that they have ended.',
  scope: 'edit',
  headers: VersionHeaders,
  body: Document,
  examples: {
    severity: {
      routes: [
        { id: 'all', channels: ['ops'], groupBy: ['rule', 'agent'] },
        { id: 'critical', under: 'all', match: ['severity=critical'], channels: ['pager'], groupWait: '0s' },
      ],
    },
  },
  versioned: true,
  response: StoredRouting,
  problems: [412, 422],
});

export const explainRoutes = operation({
  id: 'explainRoutes',
  method: 'post',
  path: '/api/routes/explain',
  tag: TAG,
  summary: 'Says for every channel whether an alert with these labels is shown there, or why not.',
  scope: 'read',
  body: z.strictObject({
    labels: z.partialRecord(z.enum(ALERT_LABELS), z.string().max(300)),
    at: Instant.optional(),
    document: Document.optional().meta({ description: 'Routes to try; without it, those that are saved.' }),
  }),
  examples: { critical: { labels: { kind: 'rule', severity: 'critical', agent: 'billing-1' } } },
  response: z.object({ channels: z.array(RoutingAnswer.meta({ id: 'RoutingAnswer' })) }),
  problems: [422],
});

export const listSilences = operation({
  id: 'listSilences',
  method: 'get',
  path: '/api/silences',
  tag: TAG,
  summary: 'Silences, newest first: those that are in force or will be, and the last 100 that have ended.',
  scope: 'read',
  response: z.object({ silences: z.array(SilenceView) }),
});

export const createSilence = operation({
  id: 'createSilence',
  method: 'post',
  path: '/api/silences',
  tag: TAG,
  summary: 'Stop notices about alerts that match, until its end. Approvals are never silenced.',
  scope: 'operate',
  once: true,
  body: SilenceDraft.meta({ id: 'SilenceDraft' }),
  examples: {
    deploy: { matchers: ['agent=billing-1'], endsAt: '2026-03-01T14:00:00.000Z', comment: 'Deploy of billing' },
  },
  status: 201,
  response: SilenceView,
  problems: [422],
});

export const endSilence = operation({
  id: 'endSilence',
  method: 'delete',
  path: '/api/silences/:id',
  tag: TAG,
  summary: 'End a silence now. An ended silence never returns.',
  scope: 'operate',
  params: IdPath,
  response: SilenceView,
  problems: [404],
});

export const getAlertNotices = operation({
  id: 'getAlertNotices',
  method: 'get',
  path: '/api/alerts/:id/notices',
  tag: 'Alerts',
  summary:
    'Who was notified of an alert or approval, when, and whether the receiver accepted it; who was not, and why.',
  scope: ['read', 'review'],
  params: IdPath,
  response: AlertNotices.meta({ id: 'AlertNotices' }),
  problems: [404],
});

export const takeSlackClick = operation({
  id: 'takeSlackClick',
  method: 'post',
  path: '/api/slack/:tenant/:channel/interactivity',
  tag: TAG,
  summary:
    'Clicks in Slack, signed with the secret of the channel. A click is the vote of the person who linked the account.',
  scope: null,
  tolerant: true,
  params: z.object({ tenant: z.string(), channel: ChannelId }),
  response: z.object({}),
  problems: [400, 401],
});

export const linkChat = operation({
  id: 'linkChat',
  method: 'post',
  path: '/api/chat-links',
  tag: TAG,
  summary: 'Connect the account of a chat with the caller. The token comes from a click by that account.',
  scope: 'review',
  once: true,
  body: z.strictObject({ token: z.string().min(1).max(2_000) }),
  examples: { slack: { token: 'sealed:…' } },
  response: z.object({ workspace: z.string(), user: z.string() }),
  problems: [422],
});
