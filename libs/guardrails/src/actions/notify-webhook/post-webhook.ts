import { createHmac } from 'node:crypto';
import type { ActionDependencies, ActionOutcome } from '../../catalog/action-module.ts';
import { outcomeOfSilence, retryLater } from '../http-outcome.ts';

interface WebhookPost {
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Standard Webhooks secret (`whsec_...`). Without one the request is not signed. */
  readonly secret?: string | undefined;
  /** JSON with `type`, `timestamp` and `data`. */
  readonly body: string;
}

/**
 * One delivery attempt, as Standard Webhooks 1.0 defines it: 2xx succeeds, 410 disables the destination, anything else
 * is retried.
 */
export async function postWebhook(
  { url, headers, secret, body }: WebhookPost,
  tools: Pick<ActionDependencies, 'deliveryId' | 'now' | 'send'>,
): Promise<ActionOutcome> {
  const response = await tools.send({
    method: 'POST',
    url,
    headers: { ...headers, 'content-type': 'application/json', ...webhookHeaders({ secret, body }, tools) },
    body,
  });
  if (response.kind !== 'answered') return outcomeOfSilence(response);
  const { status } = response;
  if (status >= 200 && status < 300) return { kind: 'delivered', httpStatus: status, detail: `HTTP ${status}` };
  if (status === 410) {
    return { kind: 'rejected', httpStatus: status, reason: 'HTTP 410: the receiver is gone', disableDestination: true };
  }
  return retryLater(response, tools.now());
}

/** Headers of Standard Webhooks 1.0: id and time of the attempt, and the signature if there is a secret. */
export function webhookHeaders(
  { secret, body }: Pick<WebhookPost, 'secret' | 'body'>,
  { deliveryId, now }: Pick<ActionDependencies, 'deliveryId' | 'now'>,
): Record<string, string> {
  const sentAt = Math.floor(now() / 1000);
  return {
    'webhook-id': deliveryId,
    'webhook-timestamp': String(sentAt),
    ...(secret === undefined ? {} : { 'webhook-signature': signWebhook(secret, deliveryId, sentAt, body) }),
  };
}

const PREFIX = 'whsec_';

/** Decodes a Standard Webhooks secret: `whsec_` and 24 to 64 bytes in base64. Returns null if the text is malformed. */
export function webhookKey(secret: string): Buffer | null {
  if (!secret.startsWith(PREFIX)) return null;
  const encoded = secret.slice(PREFIX.length);
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(encoded)) return null;
  const key = Buffer.from(encoded, 'base64');
  return key.length >= 24 && key.length <= 64 ? key : null;
}

/**
 * Signature header of Standard Webhooks 1.0: HMAC-SHA256 over `id.timestamp.body`, base64, version `v1`.
 * @throws Error if `secret` is not a webhook secret.
 */
export function signWebhook(secret: string, id: string, timestampSeconds: number, body: string): string {
  const key = webhookKey(secret);
  if (key === null) throw new Error('not a webhook secret: expected whsec_ and 24 to 64 bytes in base64');
  return `v1,${createHmac('sha256', key).update(`${id}.${timestampSeconds}.${body}`).digest('base64')}`;
}
