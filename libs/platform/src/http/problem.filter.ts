import type { Problem } from '@agentlens/contracts';
import { BusUnavailable, CommandUnanswered } from '@agentlens/messaging';
import { StateUnavailable } from '@agentlens/state';
import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException } from '@nestjs/common';
import { trace } from '@opentelemetry/api';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { type Observable, throwError } from 'rxjs';
import { isDatabaseAway } from './database-away.ts';
import { ProblemException } from './problem-exception.ts';

/**
 * Turns every error into a Problem: rejections as they are; an unavailable broker, service or database into a 503 with
 * Retry-After; anything else into a 500 without details, logged with the request id.
 */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(private readonly logger: Logger) {}

  /** Errors of message handlers keep their class; the bus decides about the message. */
  catch(error: unknown, host: ArgumentsHost): Observable<never> | undefined {
    if (host.getType() === 'rpc') return throwError(() => error);
    const http = host.switchToHttp();
    this.answer(error, http.getRequest<FastifyRequest>(), http.getResponse<FastifyReply>());
    return undefined;
  }

  answer(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
    const problem = this.problemOf(error, request);
    // An event stream that has begun can only be ended.
    if (reply.raw.headersSent) {
      reply.raw.end();
      return;
    }
    const body = { ...(problem.getResponse() as Problem), requestId: request.id };
    void reply.status(problem.getStatus()).headers(problem.headers).send(body);
  }

  /** The Problem for an error, for routes with responses of their own. */
  problemOf(error: unknown, request: FastifyRequest): ProblemException {
    if (error instanceof ProblemException) return error;
    if (error instanceof BusUnavailable) return away('The platform cannot keep events now', error.afterMs);
    if (error instanceof CommandUnanswered) return away('The service that owns this does not answer now', 2_000);
    if (error instanceof StateUnavailable) return away('The state store does not answer now', 2_000);
    if (isDatabaseAway(error)) return away('The database does not answer now', 5_000);
    const fastify = fastifyProblem(error instanceof HttpException ? (error.cause ?? error) : error, request);
    if (fastify !== null) return fastify;
    if (error instanceof HttpException) return fromHttpException(error);
    return this.#unknown(error, request);
  }

  #unknown(error: unknown, request: FastifyRequest): ProblemException {
    const id = trace.getActiveSpan()?.spanContext().traceId ?? String(request.id);
    this.logger.error({ err: error, requestId: request.id, route: request.routeOptions.url }, 'request failed');
    return new ProblemException(500, 'Internal server error', {
      hint: `This is a fault of the platform. Its log has the cause under "${id}".`,
    });
  }
}

/** Rejections by Fastify before a controller runs; Nest passes them on directly or as a cause. */
function fastifyProblem(error: unknown, request: FastifyRequest): ProblemException | null {
  const code = codeOf(error);
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return tooLarge(request.routeOptions.bodyLimit);
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
    return new ProblemException(415, 'Unsupported content type', { hint: 'Send JSON as application/json.' });
  }
  const status = statusOf(error);
  if (code?.startsWith('FST_') === true && status !== undefined && status < 500) {
    return new ProblemException(status, (error as Error).message);
  }
  return null;
}

function away(error: string, afterMs: number): ProblemException {
  const seconds = Math.max(1, Math.ceil(afterMs / 1000));
  return new ProblemException(503, error, {
    hint: `Nothing of this request was stored. Send it again in ${seconds} s.`,
    headers: { 'retry-after': String(seconds) },
  });
}

function tooLarge(maxSize: number): ProblemException {
  return new ProblemException(413, 'Request body too large', {
    hint: `Send at most ${maxSize} bytes in one request; split a batch.`,
    headers: { connection: 'close' },
    extra: { maxSize },
  });
}

function fromHttpException(error: HttpException): ProblemException {
  const status = error.getStatus();
  const body = error.getResponse();
  if (isProblem(body)) return new ProblemException(status, body.error, body);
  return new ProblemException(status, status >= 500 ? 'Internal server error' : error.message);
}

function isProblem(body: unknown): body is Problem {
  return typeof body === 'object' && body !== null && 'error' in body && typeof body.error === 'string';
}

function codeOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : undefined;
}

function statusOf(error: unknown): number | undefined {
  const status = (error as { statusCode?: unknown } | null)?.statusCode;
  return typeof status === 'number' ? status : undefined;
}
