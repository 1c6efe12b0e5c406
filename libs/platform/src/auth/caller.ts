import { createParamDecorator, type ExecutionContext, SetMetadata } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';

/**
 * What a key may do. `ingest`: send events. `decide`: ask for decisions. `read`: see. `review`: decide alerts and
 * approvals. `admin`: everything.
 */
export const SCOPES = ['ingest', 'decide', 'read', 'review', 'admin'] as const;
export type Scope = (typeof SCOPES)[number];

/** Who is asking, as its API key says; never as the request says. */
export interface Caller {
  readonly tenantId: string;
  readonly keyId: string;
  readonly scopes: readonly Scope[];
  /** Quota of this key, events per second. */
  readonly eventsPerSecond: number;
  /** What the tenant wants of a question that nobody could judge; absent: `allow`. */
  readonly decisionFailMode?: 'allow' | 'block';
}

export const SCOPES_KEY = 'agentlens:scopes';
export const PUBLIC_KEY = 'agentlens:public';
export const QUERY_TOKEN_KEY = 'agentlens:query-token';

/** The route needs one of these scopes (`admin` always suffices). A route that names none needs `admin`. */
export const Scopes = (...scopes: readonly Scope[]) => SetMetadata(SCOPES_KEY, scopes);

/** The route is open to everybody. */
export const Public = () => SetMetadata(PUBLIC_KEY, true);

/** The key may also come as `?token=`: browsers cannot send headers with an EventSource. */
export const AllowQueryToken = () => SetMetadata(QUERY_TOKEN_KEY, true);

const CALLER = Symbol('caller');

/** A request after the guard let it through. */
export interface AuthenticatedRequest extends FastifyRequest {
  [CALLER]?: Caller;
}

export function setCaller(request: AuthenticatedRequest, caller: Caller): void {
  request[CALLER] = caller;
}

export function callerOf(request: AuthenticatedRequest): Caller | undefined {
  return request[CALLER];
}

/** The caller of this request, for controller parameters. */
export const CurrentCaller = createParamDecorator((_data: unknown, context: ExecutionContext): Caller => {
  const caller = callerOf(context.switchToHttp().getRequest<AuthenticatedRequest>());
  if (caller === undefined) throw new Error('CurrentCaller was asked for on a route that is open to everybody');
  return caller;
});
