import type { DecisionPath, RoleGrant, Scope, TreeLimits, AccessWay } from '@agentlens/contracts';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { ProblemException } from '../http/problem-exception.ts';
import { RouteSetting } from './route-config.ts';

/** A person whom an identity provider has signed in. */
export interface SignedInPerson {
  readonly personId: string;
  readonly name: string;
  /** How the key reaches the platform: the key states it, never the request. */
  readonly via: AccessWay;
  readonly signedInAt: string;
  /** When the provider last asked for credentials. Absent: it did not say. */
  readonly credentialsAt?: string;
  readonly grants: readonly RoleGrant[];
  readonly teams: readonly string[];
  /** Scopes that hold only for the agents of a team, with the patterns of these agents. */
  readonly forAgents: readonly { readonly scope: Scope; readonly agents: readonly string[] }[];
  /** The browser session of this request. */
  readonly sessionId?: string;
}

/** The caller as its API key defines it, never as the request claims. */
export interface Caller {
  readonly tenantId: string;
  readonly keyId: string;
  readonly scopes: readonly Scope[];
  /** Agents that the key is bound to. Absent: every agent of the tenant. */
  readonly agents?: readonly string[];
  /** The person who uses the key, from `X-AgentLens-Actor`: for the audit, never for access. */
  readonly person?: string;
  /** The person whose session or personal key this is, whom the platform has signed in. Absent for a program. */
  readonly signedIn?: SignedInPerson;
  /** The key signs in while single sign-on is required. */
  readonly breakGlass?: boolean;
  /** Quota of this key, events per second. */
  readonly eventsPerSecond: number;
  /**
   * Decision when the evaluator cannot decide: `block` if the tenant says so or has a rule or budget that blocks when
   * it cannot be evaluated. Absent: `allow`.
   */
  readonly decisionFailMode?: 'allow' | 'block';
  /** `evaluator`: gateways ask about every call of the tenant. Absent: they decide what they can prove. */
  readonly decisionPath?: DecisionPath;
  /** Decisions of the tenant keep the arguments of calls, redacted. */
  readonly keepsArguments?: boolean;
  /** A call that a person denied is put before a person again if its run repeats it. Absent: it is denied at once. */
  readonly asksAgain?: boolean;
  /** Limits of the tenant's run trees. Absent: none. */
  readonly treeLimits?: TreeLimits;
}

/** Requires one of these scopes; `admin` always suffices. A route without scopes requires `admin`. */
export const Scopes = (...scopes: readonly Scope[]) => RouteSetting({ scopes });

/** Opens the route to requests without a key. */
export const Public = () => RouteSetting({ isPublic: true });

/** Also accepts the key as `?token=`, because browsers cannot send headers with an EventSource. */
export const AllowQueryToken = () => RouteSetting({ allowsQueryToken: true });

const CALLER = Symbol('caller');

/** A request whose key was accepted. */
interface AuthenticatedRequest extends FastifyRequest {
  [CALLER]?: Caller;
}

export function setCaller(request: AuthenticatedRequest, caller: Caller): void {
  request[CALLER] = caller;
}

/** The caller of a request on a route that requires a key. */
export function callerOf(request: AuthenticatedRequest): Caller {
  const caller = request[CALLER];
  if (caller === undefined) throw new Error('the route is public, so its request has no caller');
  return caller;
}

/** Injects the caller into a controller method. */
export const CurrentCaller = createParamDecorator((_data: unknown, context: ExecutionContext): Caller => {
  return callerOf(context.switchToHttp().getRequest<AuthenticatedRequest>());
});

/** Error code for an agent that the key is not bound to. */
export const OTHER_AGENT = 'other_agent';

/** True if the key may act for the agent. */
function maySpeakFor({ agents }: Pick<Caller, 'agents'>, agentId: string): boolean {
  return agents === undefined || agents.includes(agentId);
}

/** Message for a request with an agent that the key is not bound to. */
export function boundTo(agents: readonly string[]): string {
  return `must be an agent of this API key, which is bound to ${agents.map((agent) => JSON.stringify(agent)).join(', ')}`;
}

/**
 * @param path where the request names the agent
 * @throws ProblemException 403 with the agents that the key is bound to
 */
export function requireAgent(caller: Pick<Caller, 'agents'>, agentId: string, path = 'agentId'): void {
  const { agents = [] } = caller;
  if (maySpeakFor(caller, agentId)) return;
  throw new ProblemException(403, 'This API key is bound to other agents', {
    code: OTHER_AGENT,
    details: [{ path, message: boundTo(agents) }],
    hint: 'Name one of the agents of this key, or ask an admin for a key of the other agent.',
    extra: { agents: [...agents] },
  });
}
