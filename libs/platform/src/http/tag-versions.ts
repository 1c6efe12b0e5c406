import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { type Observable, tap } from 'rxjs';

interface Versioned {
  readonly version: number;
}

/**
 * Gives an answer its version as ETag.
 *
 * @param member what of the answer has the version; the answer itself, unless said otherwise
 */
export function tagVersions(member?: string): NestInterceptor {
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
