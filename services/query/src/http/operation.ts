import { AllowQueryToken, Public, type Scope, Scopes } from '@agentlens/platform';
import { applyDecorators, HttpCode, RequestMapping, RequestMethod } from '@nestjs/common';
import type { z } from 'zod';

/**
 * One route as the outside sees it. The controller routes by it and parses with its schemas, and `/openapi.json` is made from
 * it, so that what is documented is what is served.
 */
export interface Operation {
  readonly method: 'get' | 'post' | 'put' | 'delete';
  /** With `:name` for parameters. */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  /** `null`: open to everybody. `admin` may do everything. */
  readonly scope: Scope | null;
  readonly params?: z.ZodObject;
  readonly query?: z.ZodType;
  readonly body?: z.ZodType;
  /** Default 200. */
  readonly status?: number;
  readonly response: z.ZodType;
  /** What 207 answers, where a part of the request may be taken. */
  readonly partial?: z.ZodType;
  /** Default `application/json`. */
  readonly contentType?: string;
  /** Answers carry an ETag, and 304 to whom holds what it names. */
  readonly tagged?: boolean;
  /** The key may come as `?token=`. */
  readonly queryToken?: boolean;
  /** What 503 answers, where it says more than a Problem. */
  readonly unavailable?: z.ZodType;
  /** Statuses of problem answers beyond 400, 401, 403, 429 and 503, and 413 and 415 where there is a body. */
  readonly problems?: readonly number[];
}

/** Keeps the exact schema types of an operation, for the parsing in its controller. */
export function operation<const O extends Operation>(described: O): O {
  return described;
}

const METHODS = {
  get: RequestMethod.GET,
  post: RequestMethod.POST,
  put: RequestMethod.PUT,
  delete: RequestMethod.DELETE,
} as const;

/** Routes a controller method as its operation says: path, scope of the key, status of success. */
export function Serves(op: Operation): MethodDecorator {
  return applyDecorators(
    RequestMapping({ method: METHODS[op.method], path: op.path }),
    HttpCode(op.status ?? 200),
    op.scope === null ? Public() : Scopes(op.scope),
    ...(op.queryToken ? [AllowQueryToken()] : []),
  );
}
