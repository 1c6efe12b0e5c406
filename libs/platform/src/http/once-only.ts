import { hash } from 'node:crypto';
import { canonicalJson } from '@agentlens/contracts';
import { IdempotencyHeaders } from '@agentlens/operations';
import type { IdempotencyStore, OnceRequest } from '@agentlens/state';
import { type CallHandler, type ExecutionContext, Inject, Injectable, type NestInterceptor } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { lastValueFrom, type Observable, of } from 'rxjs';
import { callerOf } from '../auth/caller.ts';
import type { Clock } from '../platform.ts';
import type { SecretBox } from '../secret-box.ts';
import { port } from '../service-ports.ts';
import { ProblemException, parseOr400 } from './problem-exception.ts';

/** Longer than any change takes. A change without an answer after this time was lost with its process. */
const MAX_CHANGE_MS = 60_000;
const RETRY_AFTER = { 'retry-after': '2' };

/**
 * Runs a request once per `Idempotency-Key` and repeats its answer. A rejected request changed nothing and releases its
 * key. Answers are stored sealed, because some contain secrets that are shown once.
 */
@Injectable()
export class OnceOnly implements NestInterceptor {
  constructor(
    @Inject(port('idempotency')) private readonly store: IdempotencyStore,
    @Inject(port('secrets')) private readonly secrets: SecretBox,
    @Inject(port('clock')) private readonly clock: Clock,
    @Inject(port('logger')) private readonly logger: Logger,
  ) {}

  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    const http = context.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    const { 'idempotency-key': key } = parseOr400(IdempotencyHeaders, request.headers, 'headers');
    if (key === undefined) return next.handle();

    const { tenantId } = callerOf(request);
    const mine: OnceRequest = { requestHash: hashOf(request), startedAtMs: this.clock.now() };
    const known = await this.store.begin(tenantId, key, mine);
    if (known !== null) {
      const answer = this.#answerOf(known, mine, [tenantId, 'idempotency', key]);
      http.getResponse<FastifyReply>().header('idempotency-replayed', 'true');
      return of(answer);
    }
    return of(await this.#carryOut(next, tenantId, key, mine));
  }

  /** @throws ProblemException if the key belongs to another request, or the answer is unknown */
  #answerOf(known: OnceRequest, mine: OnceRequest, context: readonly string[]): unknown {
    if (known.requestHash !== mine.requestHash) {
      throw new ProblemException(422, 'Idempotency-Key reused', {
        code: 'idempotency_key_reused',
        details: [{ path: 'headers.idempotency-key', message: 'was used for another request' }],
        hint: 'Repeat the first request unchanged, or use a new key.',
      });
    }
    if (known.result?.kind === 'answered') return JSON.parse(this.secrets.open(known.result.answer, context));
    if (known.result === undefined && mine.startedAtMs - known.startedAtMs < MAX_CHANGE_MS) {
      throw new ProblemException(409, 'The first request with this Idempotency-Key is still in progress', {
        code: 'request_in_flight',
        hint: 'Send the same request again in 2 s.',
        headers: RETRY_AFTER,
      });
    }
    throw new ProblemException(409, 'The outcome of the first request with this Idempotency-Key is unknown', {
      code: 'result_unknown',
      hint: 'Check whether the change was made. If not, send it with a new key.',
    });
  }

  async #carryOut(next: CallHandler, tenantId: string, key: string, request: OnceRequest): Promise<unknown> {
    let answer: unknown;
    try {
      answer = await lastValueFrom(next.handle());
    } catch (error) {
      const changedNothing = error instanceof ProblemException && error.changedNothing;
      await this.#keep(() =>
        changedNothing
          ? this.store.release(tenantId, key)
          : this.store.finish(tenantId, key, { ...request, result: { kind: 'unknown' } }),
      );
      throw error;
    }
    const sealed = this.secrets.seal(JSON.stringify(answer), [tenantId, 'idempotency', key]);
    await this.#keep(() =>
      this.store.finish(tenantId, key, { ...request, result: { kind: 'answered', answer: sealed } }),
    );
    return answer;
  }

  /** If the answer cannot be stored, the request still gets it; a repetition learns that it is unknown. */
  async #keep(write: () => Promise<void>): Promise<void> {
    try {
      await write();
    } catch (error) {
      this.logger.warn({ err: error }, 'storing the answer of a request with an Idempotency-Key failed');
    }
  }
}

/** Covers the whole request and its key, so that an answer goes only to its caller. */
function hashOf(request: FastifyRequest): string {
  const { method, url, headers, body = null } = request;
  const { keyId } = callerOf(request);
  const conditions = [headers['if-match'] ?? null, headers['x-agentlens-override'] ?? null];
  return hash('sha256', canonicalJson([method, url, keyId, conditions, body]), 'hex');
}
