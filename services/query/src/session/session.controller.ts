import { randomBytes } from 'node:crypto';
import { HOUR_MS } from '@agentlens/contracts';
import {
  createSession,
  createSignInCode,
  endBrowserSession,
  endOwnSessions,
  endSession,
  getMe,
  listBrowserSessions,
  type RequestOf,
} from '@agentlens/operations';
import {
  bearerOf,
  browserSessionOf,
  type Caller,
  type Clock,
  CurrentCaller,
  comesFromHere,
  FromRequest,
  type KeyDirectory,
  ProblemException,
  port,
  Serves,
  SESSION_LIFE_MS,
  SessionCookies,
  type SignedInPerson,
} from '@agentlens/platform';
import { Controller, Inject, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { foundOr404 } from '../http/tenant-reads.ts';
import { KeyNames } from '../keys/key-names.ts';
import { VERSION } from '../service/version.ts';
import { IdentityProviders } from '../people/identity-providers.ts';
import { People } from '../people/people.repository.ts';
import { SignInAttempts } from '../sign-in/attempts.ts';
import { BreakGlassUse } from './break-glass-use.ts';
import { BrowserSessions, type SessionOwner } from './browser-sessions.repository.ts';
import { SignInCodes } from './sign-in-codes.ts';

@Controller()
export class SessionController {
  constructor(
    private readonly cookies: SessionCookies,
    private readonly codes: SignInCodes,
    private readonly sessions: BrowserSessions,
    private readonly names: KeyNames,
    private readonly attempts: SignInAttempts,
    private readonly providers: IdentityProviders,
    private readonly people: People,
    private readonly breakGlass: BreakGlassUse,
    @Inject(port('keys')) private readonly keys: KeyDirectory,
    @Inject(port('clock')) private readonly clock: Clock,
  ) {}

  @Serves(getMe)
  async me(@CurrentCaller() caller: Caller) {
    const { tenantId, keyId, scopes, signedIn, breakGlass } = caller;
    const { by: keyName } = await this.names.authorOf(caller);
    return {
      ...{ tenantId, keyId, keyName, scopes, version: VERSION, now: new Date(this.clock.now()).toISOString() },
      ...(signedIn === undefined ? {} : { person: personView(signedIn) }),
      ...(breakGlass === true ? { breakGlass } : {}),
    };
  }

  @Serves(createSession)
  async create(
    @FromRequest() { body: { key, code } }: RequestOf<typeof createSession>,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    // Otherwise another site could sign the browser in with its own key.
    if (request.headers.origin !== undefined && !comesFromHere(request)) {
      throw new ProblemException(403, 'Only the console itself can create a session, not another page');
    }
    const opened = key === undefined ? await this.exchange(code ?? '', request) : undefined;
    const shown = opened?.key ?? key?.trim() ?? '';
    const caller = await this.requireReader(shown);
    await this.requireKeySignIn(caller);
    const { tenantId, keyId, breakGlass } = caller;
    const session = await this.sessions.start(tenantId, keyId, request.headers['user-agent'] ?? '');
    if (breakGlass === true) await this.breakGlass.used(caller, session);
    const pageSecret = randomBytes(32).toString('base64url');
    const lifeMs = breakGlass === true ? HOUR_MS : SESSION_LIFE_MS;
    const cookies = [this.cookies.cookieFor(shown, pageSecret, session, request, lifeMs)];
    if (opened?.state !== undefined) cookies.push(this.attempts.end({ state: opened.state }, request));
    void reply.header('set-cookie', cookies);
    return { ok: true, pageSecret, ...(opened?.returnTo === undefined ? {} : { returnTo: opened.returnTo }) };
  }

  @Serves(endSession)
  async end(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply) {
    const session = browserSessionOf(request);
    const check = session === undefined ? undefined : await this.keys.check(bearerOf(request) ?? '');
    if (session !== undefined && check?.kind === 'accepted') await this.sessions.end(check.caller.tenantId, session);
    void reply.header('set-cookie', this.cookies.endedFor(request));
    return { ok: true };
  }

  @Serves(listBrowserSessions)
  async list(@CurrentCaller() caller: Caller, @Req() request: FastifyRequest) {
    const current = browserSessionOf(request);
    const sessions = await this.sessions.list(caller.tenantId, ownerOf(caller));
    const names = await this.names.namesOf(caller.tenantId, [...new Set(sessions.map(({ keyId }) => keyId))]);
    return {
      sessions: sessions.map((one) => ({
        ...one,
        keyName: names.get(one.keyId) ?? one.keyId,
        isCurrent: one.id === current,
      })),
    };
  }

  @Serves(endBrowserSession)
  async endOther(
    @CurrentCaller() caller: Caller,
    @FromRequest() { params: { id } }: RequestOf<typeof endBrowserSession>,
  ) {
    const ended = await this.sessions.end(caller.tenantId, id, ownerOf(caller));
    return foundOr404('Browser session', ended ? { id, ended: true as const } : null);
  }

  @Serves(endOwnSessions)
  async endOwn(@CurrentCaller() caller: Caller, @FromRequest() { body }: RequestOf<typeof endOwnSessions>) {
    const { tenantId, keyId, signedIn } = caller;
    if (signedIn === undefined) return { ended: await this.sessions.endAll(tenantId, keyId) };
    const { author } = await this.names.authorOf(caller);
    const only = body.personalKeys ? {} : { via: 'console' as const };
    const ended = await this.people.endSessions(signedIn.personId, { tenantId, author, ...only });
    return { ended: foundOr404('Person', ended) };
  }

  @Serves(createSignInCode)
  code(@CurrentCaller() { signedIn }: Caller, @Req() request: FastifyRequest) {
    if (signedIn !== undefined) {
      throw new ProblemException(403, 'A sign-in link needs a key of a program', {
        hint: 'Your session belongs to this browser. Sign in with the provider in the other browser.',
      });
    }
    const key = bearerOf(request);
    if (key === undefined) throw new ProblemException(401, 'Authentication required');
    return this.codes.create(key);
  }

  private exchange(code: string, request: FastifyRequest) {
    return this.codes.exchange(code, (state) => this.attempts.find(request, state) !== undefined);
  }

  /** @throws ProblemException 403 if people of the tenant must sign in with the provider */
  private async requireKeySignIn({ tenantId, signedIn, breakGlass }: Caller): Promise<void> {
    if (signedIn !== undefined || breakGlass === true || !(await this.providers.isRequired(tenantId))) return;
    throw new ProblemException(403, 'People sign in with the identity provider here', {
      code: 'single_sign_on_required',
      hint: 'Use the button of the provider. If the provider is down, an administrator signs in with the break-glass key.',
    });
  }

  private async requireReader(key: string): Promise<Caller> {
    const check = await this.keys.check(key);
    if (check.kind === 'unavailable') throw new ProblemException(503, 'API keys cannot be checked now');
    if (check.kind === 'refused') {
      throw new ProblemException(
        401,
        `This API key is ${check.reason === 'malformed' ? 'not complete' : check.reason}`,
        {
          hint: 'Paste the whole key: it begins with agk_.',
        },
      );
    }
    const { scopes } = check.caller;
    if (scopes.includes('admin') || scopes.includes('read')) return check.caller;
    throw new ProblemException(403, 'This API key may not read', {
      hint: 'The console needs a key with the scope "read"; add "review" to decide approvals, "admin" to change things.',
    });
  }
}

/** Without the scope `admin`, a caller sees and ends only own sessions: of its key, or of the same person. */
function ownerOf({ scopes, keyId, signedIn }: Caller): SessionOwner | undefined {
  if (scopes.includes('admin')) return undefined;
  return signedIn === undefined ? { keyId } : { personId: signedIn.personId };
}

function personView({ personId: id, name, via, signedInAt, grants, teams }: SignedInPerson) {
  return { id, name, via, signedInAt, grants: [...grants], teams: [...teams] };
}
