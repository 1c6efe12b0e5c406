import { type Database, recordChanges } from '@agentlens/database';
import { finishSignIn, getSignInOptions, type RequestOf, startSignIn } from '@agentlens/operations';
import { displayNameFrom, mapClaims, unmetRequirement } from '@agentlens/people';
import {
  type Clock,
  DEFAULT_TENANT,
  FromRequest,
  type Platform,
  ProblemException,
  port,
  Serves,
} from '@agentlens/platform';
import { BoundedMap, type Bucket, takeFrom } from '@agentlens/state';
import { Controller, Inject, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { foundOr404 } from '../http/tenant-reads.ts';
import { type IdentityProvider, IdentityProviders } from '../people/identity-providers.ts';
import { People, type SeenPerson } from '../people/people.repository.ts';
import { type SignInAttempt, SignInAttempts, safeReturnTo } from '../sign-in/attempts.ts';
import { PAGE_POLICY, refusedPage, testedPage } from '../sign-in/pages.ts';
import { ProviderClient, type VerifiedSignIn } from '../sign-in/provider-client.ts';
import { refusalFrom, SignInRefused } from '../sign-in/sign-in-refused.ts';
import { SignInCodes } from './sign-in-codes.ts';

const MAX_CLAIMS_CHARS = 100_000;
/** A claim with more entries is compared with every line of the mapping at every sign-in. */
const MAX_ENTRIES = 2_000;
/** Refusals recorded per provider: a callback proves nothing, so anyone can be refused. The log has all of them. */
const RECORDED_AT_ONCE = 20;
const RECORDED_PER_SECOND = 1 / 10;
const MAX_PROVIDERS = 1_000;
const Returned = z.object({ state: z.string().min(1).max(200) });

/** Signing in with an identity provider: the way there, the way back, and the page that a refusal shows. */
@Controller()
export class ProviderSignInController {
  readonly #recorded = new BoundedMap<Bucket>(MAX_PROVIDERS);

  constructor(
    private readonly providers: IdentityProviders,
    private readonly people: People,
    private readonly attempts: SignInAttempts,
    private readonly client: ProviderClient,
    private readonly codes: SignInCodes,
    @Inject(port('database')) private readonly database: Database,
    @Inject(port('clock')) private readonly clock: Clock,
    @Inject(port('logger')) private readonly logger: Platform['logger'],
  ) {}

  @Serves(getSignInOptions)
  async options(@FromRequest() { query }: RequestOf<typeof getSignInOptions>) {
    const tenantId = query.tenant ?? DEFAULT_TENANT;
    const usable = this.providers.redirectUri === undefined ? [] : await this.providers.list(tenantId);
    const enabled = usable.filter(({ settings }) => settings.enabled);
    return {
      providers: enabled.map(({ id, settings: { name } }) => ({ id, name })),
      keys: enabled.some(({ settings }) => settings.required) ? ('break_glass' as const) : ('allowed' as const),
    };
  }

  @Serves(startSignIn)
  async start(
    @FromRequest() { params, query }: RequestOf<typeof startSignIn>,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const provider = foundOr404('Identity provider', await this.#usable(params.id));
    const { attempt, cookies } = this.attempts.start(request, {
      ...{ providerId: provider.id, purpose: 'sign-in', isFresh: query.fresh === true },
      returnTo: safeReturnTo(query.returnTo),
    });
    try {
      const url = await this.client.authorizationUrl(provider, this.#redirectUri(), attempt);
      void reply.header('set-cookie', cookies).header('cache-control', 'no-store').redirect(url, 302);
    } catch (error) {
      await this.#refuse(refusalFrom(error), provider, request, reply);
    }
  }

  @Serves(finishSignIn)
  async finish(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    let provider: IdentityProvider | undefined;
    try {
      const attempt = this.#attemptOf(request);
      void reply.header('cache-control', 'no-store');
      provider = await this.#usable(attempt.providerId);
      if (provider === undefined)
        throw new SignInRefused(403, 'This provider was removed or disabled', 'Ask an administrator.');
      const verified = await this.client.verify(provider, this.#callbackUrl(request), attempt);
      if (attempt.purpose === 'test') return this.#showTest(provider, verified, attempt, request, reply);
      const key = await this.#admit(provider, verified);
      const code = this.codes.createBound({ key, state: attempt.state, returnTo: attempt.returnTo });
      void reply.redirect(`${basePathOf(request)}sign-in#code=${code}`, 302);
    } catch (error) {
      await this.#refuse(refusalFrom(error), provider, request, reply);
    }
  }

  /** The state binds the answer to a sign-in that this browser started. */
  #attemptOf(request: FastifyRequest): SignInAttempt {
    const returned = Returned.safeParse(request.query);
    const attempt = returned.success ? this.attempts.find(request, returned.data.state) : undefined;
    if (attempt !== undefined) return attempt;
    throw new SignInRefused(
      400,
      'This browser has not started this sign-in, or started it more than ten minutes ago',
      'Start again from the sign-in page.',
    );
  }

  /** @returns the key of the new session */
  async #admit(provider: IdentityProvider, verified: VerifiedSignIn): Promise<string> {
    const seen = this.#readPerson(provider, verified);
    const result = await this.people.signIn(seen);
    switch (result.kind) {
      case 'signed_in':
        return result.key;
      case 'disabled':
        throw new SignInRefused(403, 'An administrator has disabled your account here', 'Ask an administrator.');
      case 'no_role':
        throw new SignInRefused(
          403,
          'You are in none of the groups that may use AgentLens',
          'Ask an administrator for a role. They see you in Settings, People.',
          claimNames(provider),
        );
      case 'too_many':
        throw new SignInRefused(403, 'This tenant has the maximum number of people', 'Ask an administrator.');
    }
  }

  /** @throws SignInRefused if the claims do not allow a sign-in */
  #readPerson(
    provider: IdentityProvider,
    { issuer, subject, sid, claims, secondsSinceCredentials }: VerifiedSignIn,
  ): SeenPerson {
    if (JSON.stringify(claims).length > MAX_CLAIMS_CHARS) {
      throw new SignInRefused(
        403,
        'Your provider sent more than 100 kB of claims',
        'Restrict the groups claim to groups that are assigned to the application.',
      );
    }
    const crowded = Object.entries(claims).find(([, value]) => Array.isArray(value) && value.length > MAX_ENTRIES);
    if (crowded !== undefined) {
      throw new SignInRefused(
        403,
        'Your provider sent a claim with more than 2,000 entries',
        'Restrict the claim to groups that are assigned to the application.',
        [crowded[0].slice(0, 200)],
      );
    }
    const unmet = unmetRequirement(provider.settings.require, claims);
    if (unmet !== undefined) {
      throw new SignInRefused(403, 'Your account is not one of those that may sign in here', 'Ask an administrator.', [
        pathText(unmet.claim),
      ]);
    }
    const mapped = mapClaims(provider.settings, claims);
    if (mapped.kind === 'overage') {
      throw new SignInRefused(
        403,
        'Your provider did not send your groups, because you are in more than 200',
        'Use app roles, or restrict the claim to groups assigned to the application.',
        [mapped.claim],
      );
    }
    const { email } = claims;
    return {
      ...{ provider, issuer, subject, sid, grants: mapped.grants, teams: mapped.teams },
      name: displayNameFrom(claims, subject),
      email: typeof email === 'string' ? email.slice(0, 320).toWellFormed() : null,
      emailVerified: claims.email_verified === true,
      signedInAtMs:
        secondsSinceCredentials === undefined ? undefined : this.clock.now() - secondsSinceCredentials * 1_000,
    };
  }

  #showTest(
    provider: IdentityProvider,
    verified: VerifiedSignIn,
    attempt: SignInAttempt,
    request: FastifyRequest,
    reply: FastifyReply,
  ): void {
    const { claims } = verified;
    let verdict = 'This person could sign in.';
    let rights: string[] = [];
    try {
      const { grants, teams } = this.#readPerson(provider, verified);
      rights = [
        ...grants.map(({ role, team }) =>
          team === undefined ? `role ${role}` : `role ${role} for the agents of team ${team}`,
        ),
        ...teams.map((team) => `member of team ${team}`),
      ];
      if (grants.length === 0) verdict = 'This person could not sign in: no line of the mapping gives a role.';
    } catch (error) {
      if (!(error instanceof SignInRefused)) throw error;
      verdict = `This person could not sign in. ${error.message}.`;
    }
    void reply
      .status(200)
      .header('set-cookie', this.attempts.end(attempt, request))
      .header('content-security-policy', PAGE_POLICY)
      .type('text/html; charset=utf-8')
      .send(testedPage({ claims, rights, verdict }));
  }

  async #refuse(
    refused: SignInRefused,
    provider: IdentityProvider | undefined,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<void> {
    this.logger.info({ provider: provider?.id, status: refused.status, reason: refused.message }, 'sign-in refused');
    if (provider !== undefined && refused.status === 403) await this.#record(provider, refused);
    void reply
      .status(refused.status)
      .header('content-security-policy', PAGE_POLICY)
      .header('cache-control', 'no-store')
      .type('text/html; charset=utf-8')
      .send(refusedPage(refused, `${basePathOf(request)}sign-in`));
  }

  async #record({ tenantId, id }: IdentityProvider, { message, claims }: SignInRefused): Promise<void> {
    const nowMs = this.clock.now();
    const known = this.#recorded.get(id);
    const { bucket, answer } = takeFrom(known, 1, RECORDED_PER_SECOND, nowMs, RECORDED_AT_ONCE);
    this.#recorded.set(id, bucket);
    if (!answer.allowed) return;
    const at = new Date(nowMs).toISOString();
    const after = { because: message, ...(claims.length === 0 ? {} : { claims }) };
    await recordChanges(this.database.db, [{ tenantId, at, kind: 'session.refused', targetId: id, after }]);
  }

  async #usable(id: string): Promise<IdentityProvider | undefined> {
    const provider = await this.providers.find(id);
    return provider?.settings.enabled === true ? provider : undefined;
  }

  #redirectUri(): string {
    const { redirectUri } = this.providers;
    if (redirectUri !== undefined) return redirectUri;
    throw new ProblemException(503, 'AGENTLENS_PUBLIC_URL is not set', {
      hint: 'The provider returns browsers to that address. The operator of the platform sets it.',
    });
  }

  /** Built from the configured address, never from the Host header. */
  #callbackUrl(request: FastifyRequest): URL {
    const url = new URL(this.#redirectUri());
    const mark = request.url.indexOf('?');
    url.search = mark === -1 ? '' : request.url.slice(mark);
    return url;
  }
}

function claimNames({ settings: { mapping } }: IdentityProvider): string[] {
  return [...new Set(mapping.map(({ claim }) => pathText(claim)))];
}

function pathText(claim: string | readonly string[]): string {
  return typeof claim === 'string' ? claim : claim.join(' → ');
}

/** Path of the console below a proxy's prefix. */
function basePathOf({ headers }: FastifyRequest): string {
  const prefix = headers['x-forwarded-prefix'];
  return typeof prefix === 'string' && /^(\/[\w.-]+)+\/?$/.test(prefix) ? `${prefix.replace(/\/$/, '')}/` : '/';
}
