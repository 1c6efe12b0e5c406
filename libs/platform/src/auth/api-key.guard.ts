import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyRequest } from 'fastify';
import { ProblemException } from '../http/problem-exception.ts';
import { KEY_DIRECTORY } from '../tokens.ts';
import {
  type AuthenticatedRequest,
  type Caller,
  callerOf,
  PUBLIC_KEY,
  QUERY_TOKEN_KEY,
  SCOPES_KEY,
  type Scope,
  setCaller,
} from './caller.ts';
import type { KeyCheck, KeyDirectory } from './key-directory.ts';

const HOW_TO_SEND = 'Send your API key as "Authorization: Bearer agk_..."';

/** What a route says of who may call it. */
interface Access {
  readonly isPublic: boolean;
  readonly allowsQueryToken: boolean;
  readonly scopes: readonly Scope[];
}

/** Every route needs a key with one of its scopes; a route that says nothing needs `admin`. */
@Injectable()
export class ApiKeyGuard implements CanActivate {
  /** By controller and handler: a handler may be inherited by controllers that say different things. */
  readonly #access = new Map<unknown, Map<unknown, Access>>();

  constructor(
    @Inject(KEY_DIRECTORY) private readonly keys: KeyDirectory,
    @Inject(Reflector) private readonly reflector: Reflector,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const access = this.#accessOf(context);
    if (access.isPublic) return true;
    await this.#authorize(context.switchToHttp().getRequest<AuthenticatedRequest>(), access);
    return true;
  }

  /**
   * For a route without decorators; a request's key is looked up once, however often it is asked for.
   * @throws ProblemException where its caller is not known or has none of the scopes
   */
  authorize(request: AuthenticatedRequest, scopes: readonly Scope[]): Promise<Caller> {
    return this.#authorize(request, { scopes, allowsQueryToken: false });
  }

  async #authorize(
    request: AuthenticatedRequest,
    { scopes, allowsQueryToken }: Omit<Access, 'isPublic'>,
  ): Promise<Caller> {
    const caller = callerOf(request) ?? (await this.#authenticate(request, allowsQueryToken));
    setCaller(request, caller);
    requireScope(caller, scopes);
    return caller;
  }

  async #authenticate(request: FastifyRequest, allowsQueryToken: boolean): Promise<Caller> {
    const key = bearerOf(request) ?? (allowsQueryToken ? tokenOf(request) : undefined);
    if (key === undefined) throw unauthorized('Authentication required', HOW_TO_SEND);
    return callerOrRefusal(await this.keys.check(key));
  }

  /** Decorators do not change while the process runs; looking them up costs more than the rest of the check. */
  #accessOf(context: ExecutionContext): Access {
    const [controller, handler] = [context.getClass(), context.getHandler()];
    const known = this.#access.get(controller)?.get(handler);
    if (known !== undefined) return known;
    const meta = <T>(key: string) => this.reflector.getAllAndOverride<T | undefined>(key, [handler, controller]);
    const access: Access = {
      isPublic: meta<boolean>(PUBLIC_KEY) === true,
      allowsQueryToken: meta<boolean>(QUERY_TOKEN_KEY) === true,
      scopes: meta<readonly Scope[]>(SCOPES_KEY) ?? ['admin'],
    };
    const ofController = this.#access.get(controller) ?? new Map<unknown, Access>();
    this.#access.set(controller, ofController.set(handler, access));
    return access;
  }
}

function bearerOf(request: FastifyRequest): string | undefined {
  return /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1];
}

function tokenOf(request: FastifyRequest): string | undefined {
  const token = (request.query as Record<string, unknown>).token;
  return typeof token === 'string' && token !== '' ? token : undefined;
}

function callerOrRefusal(check: KeyCheck): Caller {
  if (check.kind === 'accepted') return check.caller;
  if (check.kind === 'unavailable') {
    throw new ProblemException(503, 'API keys cannot be checked now', {
      hint: 'This is a fault of the platform, your key may be fine: send the same request again.',
    });
  }
  switch (check.reason) {
    case 'malformed':
      throw unauthorized('Invalid API key', `The key is not complete or mistyped. ${HOW_TO_SEND}`);
    case 'unknown':
      throw unauthorized('Invalid API key', 'No such key here: check that it belongs to this platform.');
    case 'revoked':
      throw unauthorized('API key revoked', 'Use another key, or ask an admin for a new one.');
    case 'expired':
      throw unauthorized('API key expired', 'Use the key that replaced it, or ask an admin for a new one.');
  }
}

function unauthorized(error: string, hint: string): ProblemException {
  return new ProblemException(401, error, { hint, headers: { 'www-authenticate': 'Bearer' } });
}

function requireScope(caller: Caller, required: readonly Scope[]): void {
  if (caller.scopes.includes('admin') || required.some((scope) => caller.scopes.includes(scope))) return;
  throw new ProblemException(403, 'Insufficient permissions', {
    hint: `This needs a key with the scope ${required.map((scope) => `"${scope}"`).join(' or ')}.`,
    extra: { required: [...required], current: [...caller.scopes] },
  });
}
