import type { Operation } from '@agentlens/operations';
import { applyDecorators, HttpCode, RequestMapping, RequestMethod } from '@nestjs/common';
import { AllowQueryToken, Public, Scopes } from '../auth/caller.ts';

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
