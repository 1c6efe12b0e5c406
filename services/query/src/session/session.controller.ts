import { randomBytes } from 'node:crypto';
import {
  createSession,
  createSignInCode,
  endBrowserSession,
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
  SessionCookies,
} from '@agentlens/platform';
import { Controller, Inject, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { foundOr404 } from '../http/tenant-reads.ts';
import { KeyNames } from '../keys/key-names.ts';
import { VERSION } from '../service/version.ts';
import { BrowserSessions } from './browser-sessions.repository.ts';
import { SignInCodes } from './sign-in-codes.ts';

@Controller()
export class SessionController {
  constructor(
    private readonly cookies: SessionCookies,
    private readonly codes: SignInCodes,
    private readonly sessions: BrowserSessions,
    private readonly names: KeyNames,
    @Inject(port('keys')) private readonly keys: KeyDirectory,
    @Inject(port('clock')) private readonly clock: Clock,
  ) {}

  @Serves(getMe)
  async me(@CurrentCaller() caller: Caller) {
    const { tenantId, keyId, scopes } = caller;
    const { by: keyName } = await this.names.authorOf(caller);
    return { tenantId, keyId, keyName, scopes, version: VERSION, now: new Date(this.clock.now()).toISOString() };
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
    const shown = key?.trim() ?? (await this.codes.exchange(code ?? ''));
    const { tenantId, keyId } = await this.requireReader(shown);
    const session = await this.sessions.start(tenantId, keyId, request.headers['user-agent'] ?? '');
    const pageSecret = randomBytes(32).toString('base64url');
    void reply.header('set-cookie', this.cookies.cookieFor(shown, pageSecret, session, request));
    return { ok: true, pageSecret };
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
    const sessions = await this.sessions.list(caller.tenantId, ownKeyOf(caller));
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
    const ended = await this.sessions.end(caller.tenantId, id, ownKeyOf(caller));
    return foundOr404('Browser session', ended ? { id, ended: true as const } : null);
  }

  @Serves(createSignInCode)
  code(@Req() request: FastifyRequest) {
    const key = bearerOf(request);
    if (key === undefined) throw new ProblemException(401, 'Authentication required');
    return this.codes.create(key);
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

/** Without the scope `admin`, a caller sees and ends only sessions of its own key. */
function ownKeyOf({ scopes, keyId }: Caller): string | undefined {
  return scopes.includes('admin') ? undefined : keyId;
}
