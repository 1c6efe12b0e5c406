import { writeAcknowledgement } from '@agentlens/contracts/signed-acknowledgement';
import { isRecord } from './decision.ts';

/** What the server gave this process for one connection. */
export interface Connection {
  readonly id: string;
  readonly secret: string;
}

export interface AcknowledgementSignature {
  readonly connection: string;
  readonly version: number;
  readonly mac: string;
}

const SECRET = /^([0-9a-f]{2})+$/;

/** Undefined if the message is not a connection; older servers send none. */
export function readConnection(message: unknown): Connection | undefined {
  if (!isRecord(message) || typeof message.id !== 'string' || typeof message.secret !== 'string') return undefined;
  return SECRET.test(message.secret) ? { id: message.id, secret: message.secret } : undefined;
}

/** What this process did with an order. The declarations of this package name no type of another one. */
export interface SignedOrder {
  readonly directiveId: string;
  readonly agentId: string;
  readonly instanceId: string;
  readonly version: number;
}

/**
 * Proves that this process, and not another one with its key, took the order. Undefined where there is no Web Crypto,
 * such as on a page without https; the order is acknowledged without proof then.
 */
export async function signAcknowledgement(
  { id, secret }: Connection,
  order: SignedOrder,
): Promise<AcknowledgementSignature | undefined> {
  const { subtle } = globalThis.crypto ?? {};
  if (subtle === undefined) return undefined;
  const bytes = Uint8Array.from(secret.match(/../g) ?? [], (hex) => Number.parseInt(hex, 16));
  const key = await subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  const text = new TextEncoder().encode(writeAcknowledgement(order));
  const mac = new Uint8Array(await subtle.sign('HMAC', key, text));
  const hex = Array.from(mac, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return { connection: id, version: order.version, mac: hex };
}
