import { HOUR_MS } from '@agentlens/contracts';
import type { EgressClient } from '@agentlens/egress';
import { type Claims, findClaim } from '@agentlens/people';
import { type Clock, port } from '@agentlens/platform';
import { BoundedMap } from '@agentlens/state';
import { Inject, Injectable } from '@nestjs/common';
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose';
import * as oidc from 'openid-client';
import { z } from 'zod';
import type { IdentityProvider } from '../people/identity-providers.ts';
import { ProviderUnreachable } from './sign-in-refused.ts';

const TIMEOUT_MS = 5_000;
/** The egress client truncates answers at this size. */
const MAX_ANSWER_BYTES = 64 * 1024;
const FRESH_MS = HOUR_MS;
/** While the provider's discovery is down. */
const STALE_MS = 24 * HOUR_MS;
const CLOCK_TOLERANCE_S = 30;
const MAX_PROVIDERS = 1_000;
const MAX_LOGOUT_AGE_S = 120;
/** Anyone can send a logout token, so the provider is asked for its keys at most this often. */
const LOGOUT_KEYS_MS = 5_000;
const LOGOUT_EVENT = 'http://schemas.openid.net/event/backchannel-logout';

/** An ID token has no such event, and a logout token has no nonce. */
const LogoutToken = z
  .object({
    jti: z.string().min(1).max(500),
    sub: z.string().max(500).optional(),
    sid: z.string().max(500).optional(),
    events: z.object({ [LOGOUT_EVENT]: z.object({}) }),
    nonce: z.undefined().optional(),
  })
  .refine(({ sub, sid }) => sub !== undefined || sid !== undefined);
type LogoutToken = z.infer<typeof LogoutToken>;

/** What a sign-in proved. */
export interface VerifiedSignIn {
  readonly issuer: string;
  readonly subject: string;
  readonly sid: string | undefined;
  readonly claims: Claims;
  /** Seconds since the provider asked for credentials. Undefined if it does not say: it may have been hours ago. */
  readonly secondsSinceCredentials: number | undefined;
}

interface Attempt {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  readonly isFresh: boolean;
}

interface Discovered {
  readonly metadata: oidc.ServerMetadata;
  readonly atMs: number;
}

/** Talks to identity providers. Every request goes through the egress guard, with a timeout. */
@Injectable()
export class ProviderClient {
  readonly #discovered = new BoundedMap<Discovered>(MAX_PROVIDERS);
  readonly #logoutKeys = new BoundedMap<{ readonly keys: Promise<JSONWebKeySet>; readonly atMs: number }>(
    MAX_PROVIDERS,
  );

  constructor(
    @Inject(port('egress')) private readonly egress: EgressClient,
    @Inject(port('clock')) private readonly clock: Clock,
  ) {}

  async authorizationUrl(provider: IdentityProvider, redirectUri: string, attempt: Attempt): Promise<string> {
    const config = await this.#configure(provider);
    const url = oidc.buildAuthorizationUrl(config, {
      redirect_uri: redirectUri,
      scope: provider.settings.scopes,
      state: attempt.state,
      nonce: attempt.nonce,
      code_challenge: await oidc.calculatePKCECodeChallenge(attempt.verifier),
      code_challenge_method: 'S256',
      ...(attempt.isFresh ? { max_age: '0', prompt: 'login' } : {}),
    });
    return url.href;
  }

  /**
   * Exchanges the code and verifies the ID token, its signature included.
   *
   * @param callback the registered redirect URI with the parameters that the provider sent
   */
  async verify(provider: IdentityProvider, callback: URL, attempt: Attempt): Promise<VerifiedSignIn> {
    const config = await this.#configure(provider);
    const tokens = await oidc.authorizationCodeGrant(config, callback, {
      expectedState: attempt.state,
      expectedNonce: attempt.nonce,
      pkceCodeVerifier: attempt.verifier,
      idTokenExpected: true,
      ...(attempt.isFresh ? { maxAge: 60 } : {}),
    });
    const idToken = tokens.claims();
    if (idToken === undefined) throw new Error('the provider sent no ID token');
    const { iss: issuer, sub: subject, iat, auth_time: authTime, sid } = idToken;
    const claims = await this.#complete(config, provider, idToken, tokens.access_token);
    return {
      ...{ issuer, subject, claims },
      sid: typeof sid === 'string' ? sid : undefined,
      secondsSinceCredentials: authTime === undefined ? undefined : Math.max(0, iat - authTime),
    };
  }

  /** Adds claims of userinfo that the ID token lacks. The access token itself is never decoded. */
  async #complete(
    config: oidc.Configuration,
    provider: IdentityProvider,
    idToken: Claims & { readonly sub: string },
    accessToken: string,
  ): Promise<Claims> {
    const { mapping, require } = provider.settings;
    const wanted = [...mapping.map(({ claim }) => claim), ...require.map(({ claim }) => claim), 'name', 'email'];
    const isComplete = wanted.every((claim) => findClaim(idToken, claim) !== undefined);
    if (isComplete || config.serverMetadata().userinfo_endpoint === undefined) return idToken;
    const userinfo = await oidc.fetchUserInfo(config, accessToken, idToken.sub);
    return { ...userinfo, ...idToken };
  }

  /**
   * Verifies a logout token (OpenID Connect Back-Channel Logout 1.0, 2.6) with keys that are at most five seconds old.
   *
   * @throws Error if it is not a valid logout token of this provider for this client
   */
  async verifyLogout(provider: IdentityProvider, token: string): Promise<LogoutToken> {
    const { issuer, jwks_uri: address } = await this.metadataOf(provider);
    if (address === undefined) throw new Error('the provider publishes no keys');
    const keys = createLocalJWKSet(await this.#keysForLogout(address));
    const { payload } = await jwtVerify(token, keys, {
      issuer,
      audience: provider.settings.clientId,
      clockTolerance: CLOCK_TOLERANCE_S,
      maxTokenAge: MAX_LOGOUT_AGE_S,
      requiredClaims: ['iat', 'jti', 'events'],
    });
    return LogoutToken.parse(payload);
  }

  /** Shared by tokens that arrive within five seconds, also while the provider does not answer. */
  #keysForLogout(address: string): Promise<JSONWebKeySet> {
    const nowMs = this.clock.now();
    const known = this.#logoutKeys.get(address);
    if (known !== undefined && Math.abs(nowMs - known.atMs) < LOGOUT_KEYS_MS) return known.keys;
    const keys = this.#fetch(address, { method: 'GET', headers: {}, body: undefined, redirect: 'manual' }).then(
      async (answer) => (await answer.json()) as JSONWebKeySet,
    );
    this.#logoutKeys.set(address, { keys, atMs: nowMs });
    return keys;
  }

  async metadataOf(provider: IdentityProvider): Promise<oidc.ServerMetadata> {
    const key = `${provider.id} ${provider.settings.issuer} ${provider.settings.clientId}`;
    const known = this.#discovered.get(key);
    const age = known === undefined ? Number.POSITIVE_INFINITY : this.clock.now() - known.atMs;
    if (known !== undefined && age >= 0 && age < FRESH_MS) return known.metadata;
    try {
      const metadata = await this.#discover(provider);
      this.#discovered.set(key, { metadata, atMs: this.clock.now() });
      return metadata;
    } catch (error) {
      if (known !== undefined && age < STALE_MS) return known.metadata;
      throw error;
    }
  }

  async #discover({ settings: { issuer, clientId } }: IdentityProvider): Promise<oidc.ServerMetadata> {
    const config = await oidc.discovery(new URL(issuer), clientId, undefined, oidc.None(), {
      [oidc.customFetch]: this.#fetch,
      timeout: TIMEOUT_MS / 1_000,
      execute: [oidc.allowInsecureRequests],
    });
    return JSON.parse(JSON.stringify(config.serverMetadata())) as oidc.ServerMetadata;
  }

  /**
   * A configuration for one attempt. The library caches keys per metadata object and looks for new ones at most once a
   * minute, so a copy of the metadata makes it read the keys of this moment: a rotation refuses no sign-in.
   */
  async #configure(provider: IdentityProvider): Promise<oidc.Configuration> {
    const { settings, clientSecret } = provider;
    const metadata = structuredClone(await this.metadataOf(provider));
    const auth = clientSecret === undefined ? oidc.None() : chooseAuth(metadata, clientSecret);
    const config = new oidc.Configuration(
      metadata,
      settings.clientId,
      { [oidc.clockTolerance]: CLOCK_TOLERANCE_S },
      auth,
    );
    config[oidc.customFetch] = this.#fetch;
    config.timeout = TIMEOUT_MS / 1_000;
    // The egress guard decides about plain http: only into networks that the operator allowed.
    oidc.allowInsecureRequests(config);
    // Without it, the signature of the ID token is ignored in the code flow.
    oidc.enableNonRepudiationChecks(config);
    return config;
  }

  readonly #fetch: oidc.CustomFetch = async (url, { method, headers, body }) => {
    const text = typeof body === 'string' ? body : body instanceof URLSearchParams ? body.toString() : undefined;
    const result = await this.egress.send({
      url,
      method: method === 'POST' ? 'POST' : 'GET',
      headers: { ...headers },
      ...(text === undefined ? {} : { body: text }),
      timeoutMs: TIMEOUT_MS,
    });
    if (result.kind !== 'answered') throw new ProviderUnreachable(result.reason);
    if (Buffer.byteLength(result.body) >= MAX_ANSWER_BYTES)
      throw new ProviderUnreachable('its answer is larger than 64 kB');
    return new Response(result.status === 204 ? null : result.body, { status: result.status, headers: result.headers });
  };
}

/** `client_secret_basic` is the default of the standard; some providers accept only the other. */
function chooseAuth(
  { token_endpoint_auth_methods_supported: methods = ['client_secret_basic'] }: oidc.ServerMetadata,
  secret: string,
): oidc.ClientAuth {
  return methods.includes('client_secret_basic') ? oidc.ClientSecretBasic(secret) : oidc.ClientSecretPost(secret);
}
