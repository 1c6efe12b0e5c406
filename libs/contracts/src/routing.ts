import { z } from 'zod';
import { ChannelId } from './channels.ts';
import { Instant } from './ids.ts';
import { TeamId } from './people.ts';
import { WEEKDAYS } from './wall-clock.ts';

/** What alerts are labelled with. */
export const ALERT_LABELS = ['kind', 'severity', 'agent', 'rule', 'rule_name', 'team', 'tool'] as const;
export type AlertLabel = (typeof ALERT_LABELS)[number];
export type AlertLabels = Readonly<Partial<Record<AlertLabel, string>>>;

const LABEL = z.enum(ALERT_LABELS);

/** `agent=billing-1`, `severity!=info`, `agent=~billing-.*`, `kind!~rule|spend`. Patterns match the whole value. */
const MatcherText = z
  .string()
  .max(300)
  .regex(
    /^\s*[a-z_]+\s*(=~|!~|!=|=)/,
    'must be a label, an operator (=, !=, =~, !~) and a value, such as "severity=critical"',
  );
const Matchers = z.array(MatcherText).max(20);

const Duration = z
  .string()
  .regex(/^\d{1,6}(s|m|h|d)$/, 'must be a number and a unit, such as "30s", "5m", "4h" or "1d"')
  .refine((text) => parseDuration(text) <= 90 * 24 * 3_600_000, 'must be at most 90 days');

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Returns milliseconds. */
export function parseDuration(text: string): number {
  return Number(text.slice(0, -1)) * (UNITS[text.slice(-1)] ?? 0);
}

const RouteId = TeamId;

/** A route. It inherits from the route above it what it does not set. */
export const Route = z.strictObject({
  id: RouteId,
  under: RouteId.optional().meta({ description: 'The route above. The first route has none and takes every alert.' }),
  match: Matchers.default([]).meta({ description: 'All of them must match.' }),
  channels: z.array(ChannelId).max(20).optional().meta({ description: 'Empty: alerts end here without a notice.' }),
  continue: z.boolean().default(false).meta({ description: 'Also try the later routes beside this one.' }),
  groupBy: z.array(LABEL).max(7).optional(),
  groupWait: Duration.optional(),
  groupInterval: Duration.optional(),
  repeat: Duration.nullable().optional().meta({ description: 'Null: never repeat.' }),
  mute: z.array(TeamId).max(20).optional().meta({ description: 'Names of windows in which this route is silent.' }),
  escalate: z
    .array(z.strictObject({ beforeExpiry: Duration, channels: z.array(ChannelId).min(1).max(20) }))
    .max(5)
    .optional()
    .meta({ description: 'Channels that are notified of an approval that is still open before it expires.' }),
});
export type Route = z.output<typeof Route>;

const Days = z.array(z.enum(WEEKDAYS)).min(1).max(7);
export const TimeOfDay = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be a time of day, such as "22:00"');

/** A recurring time. One that ends before it starts ends on the next day. */
export const MuteWindow = z
  .strictObject({
    days: Days.default([...WEEKDAYS]),
    from: TimeOfDay,
    to: TimeOfDay,
    zone: z.string().max(60).default('UTC').meta({ description: 'Name of a time zone, such as Europe/Berlin.' }),
  })
  .refine(({ from, to }) => from !== to, { path: ['to'], message: 'must differ from "from": the window is empty' });
export type MuteWindow = z.output<typeof MuteWindow>;

const Inhibition = z.strictObject({
  source: Matchers.min(1),
  target: Matchers.min(1),
  equal: z
    .array(LABEL)
    .max(7)
    .default([])
    .meta({ description: 'Labels that source and target must both have, with equal values.' }),
});

/** Which alerts go to which channels. One document for each tenant. */
export const RoutingDocument = z.strictObject({
  routes: z.array(Route).min(1).max(200),
  inhibit: z.array(Inhibition).max(50).default([]),
  windows: z.record(TeamId, MuteWindow).default({}),
});
export type RoutingDocument = z.output<typeof RoutingDocument>;

export const StoredRouting = z.object({
  version: z.int(),
  savedBy: z.string().nullable(),
  savedAt: Instant,
  document: RoutingDocument,
});
export type StoredRouting = z.output<typeof StoredRouting>;

/** What is wrong with stored routes. */
export const RoutingProblem = z.object({ path: z.string(), message: z.string() });
export type RoutingProblem = z.output<typeof RoutingProblem>;

export const MAX_SILENCE_DAYS = 90;
export const MAX_ACTIVE_SILENCES = 500;

export const SilenceDraft = z.strictObject({
  matchers: Matchers.min(1),
  startsAt: Instant.optional(),
  endsAt: Instant.meta({ description: 'At most 90 days ahead.' }),
  comment: z.string().trim().min(1, 'must say why').max(1_000),
  all: z.boolean().default(false).meta({ description: 'Confirms that the silence covers every alert.' }),
});
export type SilenceDraft = z.output<typeof SilenceDraft>;

export const Silence = z.object({
  id: z.string(),
  matchers: z.array(z.string()),
  startsAt: Instant,
  endsAt: Instant,
  comment: z.string(),
  by: z.string(),
  state: z.enum(['pending', 'active', 'ended']),
  problem: z.string().optional().meta({ description: 'Why it silences nothing: its matchers cannot be read.' }),
});
export type Silence = z.output<typeof Silence>;

/** Why an alert is not shown in a channel. */
export const Suppression = z.object({
  kind: z.enum(['silenced', 'inhibited', 'muted']),
  by: z.string().meta({ description: 'Id of the silence, id of the alert that inhibits, or name of the window.' }),
  until: Instant.optional(),
});
export type Suppression = z.output<typeof Suppression>;

/** What happens to an alert with given labels in one channel. */
export const RoutingAnswer = z.object({
  channel: ChannelId,
  notified: z.boolean(),
  route: z.string().optional().meta({ description: 'The route that leads to the channel.' }),
  path: z.array(z.string()).optional().meta({ description: 'Ids of the routes from the first one to that route.' }),
  group: z.record(z.string(), z.string()).optional(),
  groupWait: z.string().optional(),
  groupInterval: z.string().optional(),
  repeat: z.string().nullable().optional(),
  suppressed: Suppression.optional(),
  because: z.string().meta({ description: 'The answer in one sentence.' }),
});
export type RoutingAnswer = z.output<typeof RoutingAnswer>;

export const NOTICE_REASONS = [
  'first',
  'new',
  'repeat',
  'resolved',
  'rerouted',
  'approval',
  'escalation',
  'changed',
  'fallback',
  'test',
] as const;

export const NOTICE_STATUSES = ['pending', 'retrying', 'success', 'failed', 'superseded'] as const;

/** A notice about an alert, and whether its receiver accepted it. */
export const AlertNotice = z.object({
  id: z.string(),
  reason: z.enum(NOTICE_REASONS),
  channel: ChannelId,
  route: z.string(),
  at: Instant,
  state: z.enum(['firing', 'resolved']).meta({ description: 'What the notice says about this alert.' }),
  alerts: z.int().meta({ description: 'Alerts in the notice.' }),
  delivery: z
    .object({
      id: z.string(),
      status: z.enum(NOTICE_STATUSES),
      acceptedAt: Instant.optional(),
      receipt: z.string().optional(),
      error: z.string().optional(),
      nextAttemptAt: Instant.optional(),
    })
    .nullable(),
});
export type AlertNotice = z.output<typeof AlertNotice>;

/** Who was notified of an alert, and who was left out and why. */
export const AlertNotices = z.object({
  alertId: z.string(),
  accepted: z.boolean().meta({ description: 'At least one receiver has accepted a notice.' }),
  notices: z.array(AlertNotice),
  channels: z.array(RoutingAnswer).meta({ description: 'Every channel, by the routes and silences of now.' }),
});
export type AlertNotices = z.output<typeof AlertNotices>;
