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

const OWNER_RETRY_AFTER_S = 5;

/** A refusal with the body every client knows: `{error, status, details?, hint?}`. */
export class ProblemException extends HttpException {
  override readonly name = 'ProblemException';
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, error: string, options: ProblemOptions = {}) {
    super(problemBody(status, error, options), status);
    this.message = error;
    this.headers = options.headers ?? {};
  }

  /** The refusal an owner answered to a command, as this edge's answer. Who cannot now is to be asked again. */
  static from({ status, error, details, hint }: Problem): ProblemException {
    const retry = status === 503 ? { headers: { 'retry-after': String(OWNER_RETRY_AFTER_S) } } : {};
    return new ProblemException(status, error, { details, hint, ...retry });
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
