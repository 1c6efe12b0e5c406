import { detailsOf, type Problem, type ProblemDetail } from '@agentlens/contracts';
import { HttpException } from '@nestjs/common';
import type { z } from 'zod';

interface ProblemOptions {
  readonly details?: readonly ProblemDetail[];
  /** Default: the code of the status. */
  readonly code?: string;
  /** What to do about it, in one sentence. */
  readonly hint?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The request changed nothing and can be repeated. Default: true for rejections. */
  readonly changedNothing?: boolean;
  /** Further members of the body (`maxSize` of a 413, `required` of a 403). */
  readonly extra?: Readonly<Record<string, unknown>>;
}

const CODES: Readonly<Record<number, string>> = {
  400: 'invalid_request',
  401: 'unauthenticated',
  403: 'forbidden',
  404: 'not_found',
  405: 'method_not_allowed',
  408: 'timeout',
  409: 'conflict',
  412: 'version_conflict',
  413: 'too_large',
  415: 'unsupported_media_type',
  421: 'misdirected',
  422: 'unprocessable',
  429: 'rate_limited',
  431: 'headers_too_large',
  503: 'unavailable',
};

/** Default header of a 503. */
const RETRY_AFTER = { 'retry-after': '5' };

/**
 * An error with the body of all error responses: `{error, code, status, details?, hint?}`. The filter adds the request
 * id.
 */
export class ProblemException extends HttpException {
  override readonly name = 'ProblemException';
  readonly headers: Readonly<Record<string, string>>;
  readonly changedNothing: boolean;

  constructor(status: number, error: string, options: ProblemOptions = {}) {
    super(problemBody(status, error, options), status);
    this.message = error;
    this.changedNothing = options.changedNothing ?? status < 500;
    this.headers = { ...(status === 503 ? RETRY_AFTER : {}), ...options.headers };
  }

  /** Turns the refusal of a command into an HTTP error. */
  static from({ status, error, code, details, hint, currentVersion }: Problem): ProblemException {
    if (currentVersion === undefined) return new ProblemException(status, error, { code, details, hint });
    const headers = { etag: `"${currentVersion}"` };
    return new ProblemException(status, error, { code, details, hint, headers, extra: { currentVersion } });
  }
}

function problemBody(status: number, error: string, options: ProblemOptions = {}): Problem {
  return {
    error,
    code: options.code ?? CODES[status] ?? (status < 500 ? 'refused' : 'internal'),
    status,
    ...(options.details === undefined ? {} : { details: [...options.details] }),
    ...(options.hint === undefined ? {} : { hint: options.hint }),
    ...options.extra,
  };
}

/**
 * Parses a value.
 *
 * @param pathPrefix place of the value in the request, for paths in the response (`'events.3'`)
 * @throws ProblemException 400 naming every invalid path
 */
export function parseOr400<T extends z.ZodType>(schema: T, value: unknown, pathPrefix = ''): z.output<T> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const prefix = pathPrefix === '' ? [] : pathPrefix.split('.');
  throw new ProblemException(400, 'Validation failed', { details: detailsOf(parsed.error, prefix) });
}
