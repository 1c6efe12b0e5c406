import type { Problem, ProblemDetail } from '@agentlens/contracts';
import { HttpException } from '@nestjs/common';

export interface ProblemOptions {
  readonly details?: readonly ProblemDetail[];
  /** What to do about it, one sentence. */
  readonly hint?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Further members of the body that clients of this answer read (`maxSize` of a 413, `required` of a 403). */
  readonly extra?: Readonly<Record<string, unknown>>;
}

/** With 503 unless something else is said: who cannot now is to be asked again. */
const RETRY_AFTER = { 'retry-after': '5' };

/** A refusal with the body every client knows: `{error, status, details?, hint?}`. */
export class ProblemException extends HttpException {
  override readonly name = 'ProblemException';
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, error: string, options: ProblemOptions = {}) {
    super(problemBody(status, error, options), status);
    this.message = error;
    this.headers = { ...(status === 503 ? RETRY_AFTER : {}), ...options.headers };
  }

  /** The refusal an owner answered to a command, as this edge's answer. */
  static from({ status, error, details, hint }: Problem): ProblemException {
    return new ProblemException(status, error, { details, hint });
  }
}

export function problemBody(status: number, error: string, options: ProblemOptions = {}): Problem {
  return {
    error,
    status,
    ...(options.details === undefined ? {} : { details: [...options.details] }),
    ...(options.hint === undefined ? {} : { hint: options.hint }),
    ...options.extra,
  };
}
