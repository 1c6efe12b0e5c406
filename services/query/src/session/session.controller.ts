import { randomBytes } from 'node:crypto';
import { createSession, createSignInCode, endSession, getMe, type RequestOf } from '@agentlens/operations';
import {
  bearerOf,
  type Caller,
  CLOCK,
  type Clock,
  CurrentCaller,
  comesFromHere,
  FromRequest,
  KEY_DIRECTORY,
  type KeyDirectory,
  ProblemException,
  Serves,
  SessionCookies,
} from '@agentlens/platform';
import { Controller, Inject, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { KeyNames } from '../keys/key-names.ts';
import { VERSION } from '../service/version.ts';
import { SignInCodes } from './sign-in-codes.ts';

@Controller()
export class SessionController {
  constructor(
    private readonly cookies: SessionCookies,
    private readonly codes: SignInCodes,
    private readonly names: KeyNames,
    @Inject(KEY_DIRECTORY) private readonly keys: KeyDirectory,
    @Inject(CLOCK) private readonly clock: Clock,
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
    await this.requireReader(shown);
    const pageSecret = randomBytes(32).toString('base64url');
    void reply.header('set-cookie', this.cookies.cookieFor(shown, pageSecret, request));
    return { ok: true, pageSecret };
  }

  @Serves(endSession)
  end(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply) {
    void reply.header('set-cookie', this.cookies.endedFor(request));
    return { ok: true };
  }

  @Serves(createSignInCode)
  code(@Req() request: FastifyRequest) {
    const key = bearerOf(request);
    if (key === undefined) throw new ProblemException(401, 'Authentication required');
    return this.codes.create(key);
  }

  private async requireReader(key: string): Promise<void> {
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
    if (scopes.includes('admin') || scopes.includes('read')) return;
    throw new ProblemException(403, 'This API key may not read', {
      hint: 'The console needs a key with the scope "read"; add "review" to decide approvals, "admin" to change things.',
    });
  }
}
