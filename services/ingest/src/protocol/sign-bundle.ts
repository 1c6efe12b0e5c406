import { createHmac } from 'node:crypto';
import { BUNDLE_KEY_LABEL, canonicalJson, type RuleBundle, sha256Hex } from '@agentlens/contracts';

/** The bundle as text, so that the signature is over exact bytes. */
export interface BundleSignature {
  readonly payload: string;
  /** HMAC-SHA256 of the payload, hex. */
  readonly signature: string;
}

/**
 * Signed with a key made of the API key, which both sides hold while they speak and which is stored nowhere readable:
 * what lies between them cannot weaken an agent's rules.
 */
export function signBundle(bundle: RuleBundle, apiKey: string): BundleSignature {
  const payload = JSON.stringify(bundle);
  const key = createHmac('sha256', apiKey).update(BUNDLE_KEY_LABEL).digest();
  return { payload, signature: createHmac('sha256', key).update(payload).digest('hex') };
}

/** Names what a bundle says, so that bundles made at different times (their `version`) are the same to a client. */
export function bundleTag(bundle: RuleBundle): string {
  const { version: _, ...said } = bundle;
  return `W/"${sha256Hex(canonicalJson(said))}"`;
}

/** Whether an If-None-Match names `tag`, in the weak comparison of RFC 9110 §13.1.2. */
export function isTagged(ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  const opaque = (text: string) => text.trim().replace(/^W\//, '');
  const names = ifNoneMatch.split(',').map(opaque);
  return names.includes('*') || names.includes(opaque(tag));
}
