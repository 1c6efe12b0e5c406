import type { Scope } from '@agentlens/contracts';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { RouteSetting } from './route-config.ts';

/** Who is asking, as its API key says; never as the request says. */
export interface Caller {
  readonly tenantId: string;
  readonly keyId: string;
  readonly scopes: readonly Scope[];
  /** The agents that the key is bound to. Absent: it may speak for every agent of the tenant. */
  readonly agents?: readonly string[];
  /** Who acts with the key, as `X-AgentLens-Actor` names them: for the record only, never a right. */
  readonly person?: string;
  /** Quota of this key, events per second. */
  readonly eventsPerSecond: number;
  /**
   * What a question gets that nobody could judge: `block` if the tenant says so, or has a rule or a budget that blocks when
   * it cannot be evaluated. Absent: `allow`.
   */
  readonly decisionFailMode?: 'allow' | 'block';
  /** Decisions of the tenant keep the arguments of calls, redacted. */
  readonly keepsArguments?: boolean;
  /** A call that a person denied is put before a person again if its run repeats it. Absent: it is denied at once. */
  readonly asksAgain?: boolean;
}

/** The route needs one of these scopes (`admin` always suffices). A route that names none needs `admin`. */
export const Scopes = (...scopes: readonly Scope[]) => RouteSetting({ scopes });

/** The route is open to everybody. */
export const Public = () => RouteSetting({ isPublic: true });

/** The key may also come as `?token=`: browsers cannot send headers with an EventSource. */
export const AllowQueryToken = () => RouteSetting({ allowsQueryToken: true });

const CALLER = Symbol('caller');

/** A request whose key was accepted. */
interface AuthenticatedRequest extends FastifyRequest {
  [CALLER]?: Caller;
}

export function setCaller(request: AuthenticatedRequest, caller: Caller): void {
  request[CALLER] = caller;
}

/** The caller of a request, on every route that is not public. */
export function callerOf(request: AuthenticatedRequest): Caller {
  const caller = request[CALLER];
  if (caller === undefined) throw new Error('the caller was asked for on a route that is open to everybody');
  return caller;
}

/** The caller of this request, for controller parameters. */
export const CurrentCaller = createParamDecorator((_data: unknown, context: ExecutionContext): Caller => {
  return callerOf(context.switchToHttp().getRequest<AuthenticatedRequest>());
});
