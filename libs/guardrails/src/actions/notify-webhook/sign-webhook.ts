import { createHmac } from 'node:crypto';

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
