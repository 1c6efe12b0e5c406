import { z } from 'zod';
import { displayName, Instant } from './ids.ts';
import { TeamId } from './people.ts';
import { HttpAddress } from './webhooks.ts';

export const CHANNEL_KINDS = [
  'slack_app',
  'slack_webhook',
  'teams',
  'pagerduty',
  'alertmanager',
  'alertmanager_webhook',
  'email',
  'webhook',
] as const;
export type ChannelKind = (typeof CHANNEL_KINDS)[number];

/** A channel id has the form of a team id: routes name it. */
export const ChannelId = TeamId;

const Secret = (most: number) => z.string().min(1).max(most);

/** One mailbox. Text that could name further recipients is refused. */
const MailAddress = z
  .email()
  .max(254)
  .refine((text) => !/[,;<>\s]/.test(text), 'must be one address, such as ops@example.com');

const SlackWebhookConfig = z.strictObject({ kind: z.literal('slack_webhook'), url: HttpAddress });
const TeamsConfig = z.strictObject({ kind: z.literal('teams'), url: HttpAddress });
const WebhookChannelConfig = z.strictObject({
  kind: z.literal('webhook'),
  url: HttpAddress,
  secret: Secret(200)
    .regex(/^whsec_[A-Za-z0-9+/=]{32,90}$/, 'must be "whsec_" followed by 24 to 64 random bytes in base64')
    .optional(),
});
const AlertmanagerConfig = z.strictObject({
  kind: z.literal('alertmanager'),
  url: HttpAddress.meta({ description: 'Address of the Alertmanager, without /api/v2/alerts.' }),
  bearerToken: Secret(2_000).optional(),
});
const AlertmanagerWebhookConfig = z.strictObject({
  kind: z.literal('alertmanager_webhook'),
  url: HttpAddress.meta({ description: "Address of a program that reads what Alertmanager's webhook receiver sends." }),
  bearerToken: Secret(2_000).optional(),
});
const PagerDutyConfig = z.strictObject({
  kind: z.literal('pagerduty'),
  routingKey: z.string().regex(/^[A-Za-z0-9]{32}$/, 'must be the 32 characters of an Events v2 integration key'),
  url: HttpAddress.optional().meta({ description: 'Events address; default: https://events.pagerduty.com' }),
});
const SlackAppConfig = z.strictObject({
  kind: z.literal('slack_app'),
  botToken: Secret(300),
  signingSecret: Secret(200),
  workspace: z.string().regex(/^[TE][A-Z0-9]{1,20}$/, 'must be the id of a workspace, such as T024BE7LD'),
  channel: z.string().regex(/^[CGD][A-Z0-9]{1,20}$/, 'must be the id of a channel, such as C024BE91L'),
  content: z
    .enum(['whole', 'none'])
    .default('whole')
    .meta({ description: '`none`: the message does not show the call, so it has no Approve button.' }),
  apiUrl: HttpAddress.optional().meta({ description: 'For tests and proxies; default: https://slack.com/api' }),
});
const EmailConfig = z
  .strictObject({
    kind: z.literal('email'),
    host: z.string().min(1).max(253),
    port: z.int().min(1).max(65_535).default(587),
    security: z
      .enum(['tls', 'starttls', 'none'])
      .default('starttls')
      .meta({ description: '`starttls` refuses a server that offers none. `none` allows no password.' }),
    user: z.string().min(1).max(254).optional(),
    password: Secret(500).optional(),
    from: MailAddress,
    to: z.array(MailAddress).min(1).max(20),
  })
  .refine(({ security, password }) => security !== 'none' || password === undefined, {
    path: ['security'],
    message: 'must be "tls" or "starttls" with a password, which would be sent in clear text otherwise',
  });

export const ChannelConfig = z.discriminatedUnion('kind', [
  SlackAppConfig,
  SlackWebhookConfig,
  TeamsConfig,
  PagerDutyConfig,
  AlertmanagerConfig,
  AlertmanagerWebhookConfig,
  EmailConfig,
  WebhookChannelConfig,
]);
export type ChannelConfig = z.output<typeof ChannelConfig>;
export type ChannelConfigOf<K extends ChannelKind> = Extract<ChannelConfig, { kind: K }>;

export const ChannelDraft = z.strictObject({
  name: displayName(z.string().trim()).optional(),
  config: ChannelConfig.optional().meta({ description: 'Omit it to keep the stored one, secrets included.' }),
  fallback: ChannelId.optional().meta({
    description: 'Gets a notice that this channel has not accepted: at once if it was given up.',
  }),
  enabled: z.boolean().default(true),
});
export type ChannelDraft = z.output<typeof ChannelDraft>;

const ChannelHealth = z.object({
  state: z.enum(['unused', 'ok', 'failing']),
  acceptedAt: Instant.optional(),
  failedAt: Instant.optional(),
  error: z.string().optional().meta({ description: 'What the receiver said at the last failure.' }),
});

/** A channel without its secrets. */
export const ChannelView = z.object({
  id: ChannelId,
  kind: z.enum(CHANNEL_KINDS),
  name: z.string().optional(),
  target: z.string().meta({ description: 'Where it leads, without anything secret.' }),
  fallback: ChannelId.optional(),
  enabled: z.boolean(),
  version: z.int(),
  health: ChannelHealth,
});
export type ChannelView = z.output<typeof ChannelView>;

export const MAX_CHANNELS = 50;
