import { visible } from '@agentlens/contracts/visible';
import { z } from 'zod';

/** The provider gave no answer that could be used. */
export class ProviderUnreachable extends Error {
  override readonly name = 'ProviderUnreachable';
}

/** A sign-in that is refused, as the person sees it. */
export class SignInRefused extends Error {
  override readonly name = 'SignInRefused';

  constructor(
    readonly status: 400 | 403 | 503,
    message: string,
    readonly hint: string,
    /** Names of the claims that were looked at. */
    readonly claims: readonly string[] = [],
  ) {
    super(message);
  }
}

const ASK_AGAIN = 'Start the sign-in again. If it is refused again, tell an administrator what this page says.';

/** Texts for errors of the library by code. None quotes what the provider or the address contains. */
const REASONS: Readonly<Record<string, string>> = {
  OAUTH_INVALID_RESPONSE: 'The answer of the provider is not valid',
  OAUTH_JWT_CLAIM_COMPARISON_FAILED: 'The ID token of the provider is for another sign-in, client or issuer',
  OAUTH_JWT_TIMESTAMP_CHECK_FAILED:
    'The ID token has expired or lies in the future: the clocks of provider and platform differ',
  OAUTH_KEY_SELECTION_FAILED: 'The provider signed the ID token with a key that it does not publish',
  OAUTH_JWT_SIGNATURE_VERIFICATION_FAILED: 'The signature of the ID token is wrong',
  OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED: 'The issuer in the discovery document is not the configured issuer',
  OAUTH_RESPONSE_BODY_ERROR: 'The provider refused to exchange the code',
};

/** Finds the cause of a failed exchange. Errors that are not about the provider are thrown again. */
export function refusalFrom(error: unknown): SignInRefused {
  for (let cause: unknown = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth++) {
    if (cause instanceof SignInRefused) return cause;
    if (cause instanceof ProviderUnreachable) {
      return new SignInRefused(
        503,
        `The identity provider does not answer: ${cause.message}`,
        'Try again later, or sign in with the break-glass key.',
      );
    }
    const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : '';
    if (code === 'OAUTH_AUTHORIZATION_RESPONSE_ERROR') {
      return new SignInRefused(403, `The identity provider refused the sign-in${errorOf(cause)}`, ASK_AGAIN);
    }
    if (code === 'OAUTH_RESPONSE_IS_NOT_CONFORM' || code === 'OAUTH_PARSE_ERROR') {
      return new SignInRefused(
        503,
        'The identity provider gave an answer that cannot be used',
        'Try again later, or sign in with the break-glass key.',
      );
    }
    const reason = REASONS[code];
    if (reason !== undefined) return new SignInRefused(403, `${reason}${errorOf(cause)}${describe(cause)}`, ASK_AGAIN);
    if (code.startsWith('OAUTH_'))
      return new SignInRefused(403, `The sign-in could not be verified (${code})`, ASK_AGAIN);
  }
  throw error;
}

/** What the library compared, as far as it says so. */
const Compared = z.union([
  z
    .object({ expected: z.string(), body: z.object({ issuer: z.string() }), attribute: z.literal('issuer') })
    .transform(({ expected, body }) => `: the document says ${cut(body.issuer)}, the setting ${cut(expected)}`),
  z
    .object({ now: z.number(), claims: z.object({ iat: z.number() }) })
    .transform(({ now, claims }) => `: it is ${timeOf(claims.iat)} at the provider, and ${timeOf(now)} here`),
]);

/** Both sides of a comparison that failed. The library keeps them in the innermost cause. */
function describe(error: Error): string {
  for (let cause: unknown = error, depth = 0; depth < 5 && typeof cause === 'object' && cause !== null; depth++) {
    const compared = Compared.safeParse(cause);
    if (compared.success) return compared.data;
    cause = 'cause' in cause ? cause.cause : undefined;
  }
  return '';
}

function cut(text: string): string {
  return visible(text).slice(0, 200);
}

function timeOf(seconds: number): string {
  const at = new Date(seconds * 1_000);
  return Number.isNaN(at.getTime()) ? 'an unknown time' : at.toISOString();
}

/** The error code of the provider, if it has the form of one. Its description may contain anything. */
function errorOf(cause: object): string {
  return 'error' in cause && typeof cause.error === 'string' && /^[a-z_]{1,40}$/.test(cause.error)
    ? `: ${cause.error}`
    : '';
}
