import type { ActionDependencies, ActionOutcome } from '../../catalog/action-module.ts';
import { outcomeOfSilence, retryLater } from '../http-outcome.ts';
import { signWebhook } from './sign-webhook.ts';

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
  const sentAt = Math.floor(tools.now() / 1000);
  const response = await tools.send({
    method: 'POST',
    url,
    headers: {
      ...headers,
      'content-type': 'application/json',
      'webhook-id': tools.deliveryId,
      'webhook-timestamp': String(sentAt),
      ...(secret === undefined ? {} : { 'webhook-signature': signWebhook(secret, tools.deliveryId, sentAt, body) }),
    },
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
