import { alertChanged, breakerChanged, controlOrdered, guardrailTriggered, WebhookFormat } from '@agentlens/contracts';
import type { ActionDependencies, ActionOutcome } from '@agentlens/guardrails';
import { postWebhook } from '@agentlens/guardrails/actions';
import { z } from 'zod';
import { slackBody } from './slack-body.ts';
import { APPROVAL_CHANGED, AUDIT_RECORDED, BUDGET_REACHED, type WebhookMessage } from './webhook-notice.ts';

type Data = Readonly<Record<string, unknown>>;

/** Console pages by type of message. */
const PATHS: Readonly<Record<string, (data: Data) => string>> = {
  [APPROVAL_CHANGED]: ({ id }) => `/approvals?id=${escaped(id)}`,
  [alertChanged.name]: ({ id }) => `/alerts?id=${escaped(id)}`,
  [guardrailTriggered.name]: ({ ruleId }) => `/guardrails/${escaped(ruleId)}`,
  [controlOrdered.name]: ofScope,
  [breakerChanged.name]: ofScope,
  [AUDIT_RECORDED]: ({ targetId }) => `/audit?targetId=${escaped(targetId)}`,
  [BUDGET_REACHED]: () => '/spend',
};

/** Undefined if the public URL is not configured. */
export function linkTo({ type, data }: WebhookMessage, publicUrl: string | undefined): string | undefined {
  if (publicUrl === undefined) return undefined;
  return publicUrl.replace(/\/+$/, '') + (PATHS[type]?.(data as Data) ?? '/');
}

function ofScope({ scope, scopeId }: Data): string {
  if (scope === 'run') return `/runs/${escaped(scopeId)}`;
  return scope === 'agent' ? `/agents/${escaped(scopeId)}` : '/';
}

function escaped(id: unknown): string {
  return encodeURIComponent(String(id));
}

/** Action type of deliveries to webhook endpoints. No rule can use it as its action. */
export const ENDPOINT_WEBHOOK = 'webhook';

/** The endpoint at the time of queueing, and the message. */
const EndpointWebhookConfig = z.object({
  url: z.string(),
  format: WebhookFormat,
  secret: z.string(),
  message: z.object({ type: z.string(), timestamp: z.string(), data: z.looseObject({}) }),
});
type EndpointWebhookConfig = z.infer<typeof EndpointWebhookConfig>;

/** Delivered like an action, by the same workers. */
export const endpointWebhook = {
  urgency: 'notification',
  config: EndpointWebhookConfig,
  address: 'url',
  /** @param publicUrl base of links to the console; without it there are no links */
  execute(
    { url, format, secret, message }: EndpointWebhookConfig,
    publicUrl: string | undefined,
    tools: ActionDependencies,
  ): Promise<ActionOutcome> {
    const link = linkTo(message, publicUrl);
    const body = format === 'slack' ? slackBody(message, link) : { ...message, url: link };
    return postWebhook({ url, secret, body: JSON.stringify(body) }, tools);
  },
} as const;
