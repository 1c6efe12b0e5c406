import { createHmac } from 'node:crypto';
import { BUNDLE_KEY_LABEL, type RuleBundle } from '@agentlens/contracts';

/** The bundle as text, so that the signature is over exact bytes. */
export interface SignedBundle {
  readonly payload: string;
  /** HMAC-SHA256 of the payload, hex. */
  readonly signature: string;
}

/**
 * Signed with a key made of the API key, which both sides hold while they speak and which is stored nowhere readable:
 * what lies between them cannot weaken an agent's rules.
 */
export function signBundle(bundle: RuleBundle, apiKey: string): SignedBundle {
  const payload = JSON.stringify(bundle);
  const key = createHmac('sha256', apiKey).update(BUNDLE_KEY_LABEL).digest();
  return { payload, signature: createHmac('sha256', key).update(payload).digest('hex') };
}
