import { createHash } from 'node:crypto';

/** An address one tenant's actions call. Health, fairness and being disabled are per destination. */
export interface Destination {
  readonly tenantId: string;
  /** SHA-256 of the whole address: paths and queries of webhooks are often secrets themselves. */
  readonly id: string;
}

/** An address of an action: its id, and a label that may be shown. */
export interface Address {
  readonly id: string;
  readonly label: string;
}

/** Null for what is no address. */
export function destinationOf(text: unknown): Address | null {
  const url = typeof text === 'string' ? URL.parse(text) : null;
  if (url === null) return null;
  return { id: createHash('sha256').update(url.href).digest('hex'), label: url.origin };
}
