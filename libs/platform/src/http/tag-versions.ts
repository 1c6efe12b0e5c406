import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { type Observable, tap } from 'rxjs';

/** Gives an answer its version as ETag. */
export const tagVersions: NestInterceptor<{ readonly version: number }> = {
  intercept(
    context: ExecutionContext,
    next: CallHandler<{ readonly version: number }>,
  ): Observable<{ version: number }> {
    const reply = context.switchToHttp().getResponse<FastifyReply>();
    return next.handle().pipe(tap(({ version }) => void reply.header('etag', `"${version}"`)));
  },
};
