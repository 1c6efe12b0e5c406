import { ProblemException } from '@agentlens/platform';
import type { QuotaAnswer } from '@agentlens/state';

/** RateLimit fields of the IETF draft (draft-ietf-httpapi-ratelimit-headers-10); the unit is events. */
export function rateLimitFields(answer: QuotaAnswer): Record<string, string> {
  const seconds = Math.ceil(answer.retryAfterMs / 1000);
  return {
    'ratelimit-policy': `"events";q=${answer.limit};w=1`,
    ratelimit: `"events";r=${answer.remaining};t=${seconds}`,
  };
}

export function tooMany(answer: QuotaAnswer): ProblemException {
  const seconds = Math.max(1, Math.ceil(answer.retryAfterMs / 1000));
  return new ProblemException(429, 'Too Many Requests', {
    hint: `This API key may send ${answer.limit} events per second. Send the same request again in ${seconds} s.`,
    headers: { 'retry-after': String(seconds) },
  });
}

/** The platform is behind and this tenant is among the loudest. */
export function heldBack(waitMs: number): ProblemException {
  const seconds = Math.max(1, Math.ceil(waitMs / 1000));
  return new ProblemException(429, 'The platform is behind, and you are sending the most', {
    hint: `Send the same request again in ${seconds} s, or less at a time.`,
    headers: { 'retry-after': String(seconds) },
  });
}
