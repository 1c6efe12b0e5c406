import { type Operation, scopesOf } from '@agentlens/operations';
import {
  applyDecorators,
  type CallHandler,
  type ExecutionContext,
  HttpCode,
  type NestInterceptor,
  RequestMapping,
  RequestMethod,
  UseInterceptors,
} from '@nestjs/common';
import type { FastifyReply, HTTPMethods } from 'fastify';
import { type Observable, tap } from 'rxjs';
import { RouteSetting, type RouteSettings } from '../auth/route-config.ts';
import { OnceOnly } from './once-only.ts';
import { ReadRequest } from './read-request.ts';

interface Versioned {
  readonly version: number;
}

/**
 * Sends the version of a response as ETag.
 *
 * @param member the part of the response with the version; default: the response itself
 */
function tagVersions(member?: string): NestInterceptor {
  const versionOf = (answer: unknown) => {
    const { version } = (member === undefined ? answer : (answer as Record<string, unknown>)[member]) as Versioned;
    return version;
  };
  return {
    intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
      const reply = context.switchToHttp().getResponse<FastifyReply>();
      return next.handle().pipe(tap((answer) => void reply.header('etag', `"${versionOf(answer)}"`)));
    },
  };
}

const METHODS = {
  get: RequestMethod.GET,
  post: RequestMethod.POST,
  put: RequestMethod.PUT,
  patch: RequestMethod.PATCH,
  delete: RequestMethod.DELETE,
} as const;

/**
 * Routes a controller method as its operation declares: path, scope, validated input (`@FromRequest()`) and status.
 * `settings` adds what a declaration does not cover.
 */
export function Serves(op: Operation, settings: RouteSettings = {}): MethodDecorator {
  return applyDecorators(
    RequestMapping({ method: METHODS[op.method], path: op.path }),
    RouteSetting({ ...accessOf(op), ...settings }),
    HttpCode(op.status ?? 200),
    ...(op.tolerant ? [] : [UseInterceptors(new ReadRequest(op))]),
    ...(op.versioned ? [UseInterceptors(tagVersions(op.versioned === true ? undefined : op.versioned))] : []),
    ...(op.once ? [UseInterceptors(OnceOnly)] : []),
  );
}

/** The same for a plain Fastify route: `fastify.route({ ...routeOf(op), handler })`. */
export function routeOf(op: Operation, settings: RouteSettings = {}) {
  return {
    method: op.method.toUpperCase() as HTTPMethods,
    url: op.path,
    config: { ...accessOf(op), ...settings },
  };
}

function accessOf(op: Operation): RouteSettings {
  return {
    ...(op.scope === null ? { isPublic: true } : { scopes: scopesOf(op) }),
    ...(op.queryToken === true ? { allowsQueryToken: true } : {}),
  };
}
