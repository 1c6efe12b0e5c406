import type { Webhook } from 'standardwebhooks';

/** Verifies a webhook signature at the fixed test time, because the library uses the real clock. */
export function verifyAt(webhook: Webhook, body: string, headers: Record<string, unknown>): void {
  const sentAt = Number(headers['webhook-timestamp']) * 1_000;
  const realNow = Date.now;
  Date.now = () => sentAt;
  try {
    webhook.verify(body, headers as Record<string, string>);
  } finally {
    Date.now = realNow;
  }
}
