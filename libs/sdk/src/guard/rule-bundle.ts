import { isRecord, parseJson } from '../wire/decision.ts';
import type { BundledRule, RuleBundle } from './local-rules.ts';

/** As sent by the server: the bundle is text, so that the signature covers exact bytes. */
export interface ReceivedBundle {
  readonly payload: string;
  /** HMAC-SHA256 of the payload in hex, under the key of `bundleKey`. */
  readonly signature: string;
}

/** Binds the key to this use: a signature made for another purpose with the same API key is not valid here. */
export const BUNDLE_KEY_LABEL = 'agentlens.rule-bundle.v1';

const PHASES = new Set(['tool.before', 'tool.after', 'llm.before']);

type HmacKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

/** Why a bundle is rejected. The current one stays in use until it expires. */
export type BundleProblem = 'malformed' | 'bad signature' | 'other agent' | 'older';

/**
 * Accepts a bundle that this server signed for this agent and that is not older than the current one. The signing key
 * is derived from the API key, which both sides know during a request and which is never stored in plain text.
 */
export async function openBundle(
  answer: unknown,
  apiKey: string,
  agentId: string,
  newerThan: number,
): Promise<{ readonly ok: true; readonly bundle: RuleBundle } | { readonly ok: false; readonly why: BundleProblem }> {
  if (!isRecord(answer) || typeof answer.payload !== 'string' || typeof answer.signature !== 'string')
    return { ok: false, why: 'malformed' };
  if (!(await isSigned(answer.payload, answer.signature, apiKey))) return { ok: false, why: 'bad signature' };
  const bundle = parseJson(answer.payload);
  if (!isBundle(bundle)) return { ok: false, why: 'malformed' };
  if (bundle.agentId !== agentId) return { ok: false, why: 'other agent' };
  return bundle.version < newerThan ? { ok: false, why: 'older' } : { ok: true, bundle };
}

/** Signs as the server does; for tests and test doubles. */
export async function signBundle(bundle: RuleBundle, apiKey: string): Promise<ReceivedBundle> {
  const payload = JSON.stringify(bundle);
  const signature = await crypto.subtle.sign('HMAC', await bundleKey(apiKey), utf8(payload));
  return { payload, signature: hex(new Uint8Array(signature)) };
}

async function isSigned(payload: string, signature: string, apiKey: string): Promise<boolean> {
  const bytes = fromHex(signature);
  // The platform compares in constant time.
  return bytes !== null && crypto.subtle.verify('HMAC', await bundleKey(apiKey), bytes, utf8(payload));
}

async function bundleKey(apiKey: string): Promise<HmacKey> {
  const secret = await hmacKey(utf8(apiKey));
  return hmacKey(new Uint8Array(await crypto.subtle.sign('HMAC', secret, utf8(BUNDLE_KEY_LABEL))));
}

function hmacKey(secret: Uint8Array<ArrayBuffer>): Promise<HmacKey> {
  return crypto.subtle.importKey('raw', secret, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign', 'verify']);
}

function isBundle(value: unknown): value is RuleBundle & Record<string, unknown> {
  return (
    isRecord(value) &&
    typeof value.agentId === 'string' &&
    typeof value.version === 'number' &&
    typeof value.ttlSeconds === 'number' &&
    Array.isArray(value.askAlways) &&
    value.askAlways.every((phase) => PHASES.has(phase)) &&
    Array.isArray(value.rules) &&
    value.rules.every(isRule)
  );
}

function isRule(value: unknown): value is BundledRule {
  return (
    isRecord(value) &&
    typeof value.id === 'string' &&
    typeof value.conditionType === 'string' &&
    typeof value.actionType === 'string' &&
    Array.isArray(value.phases) &&
    value.phases.every((phase) => PHASES.has(phase))
  );
}

function utf8(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

function fromHex(text: string): Uint8Array<ArrayBuffer> | null {
  if (!/^(?:[0-9a-f]{2})+$/i.test(text)) return null;
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}
