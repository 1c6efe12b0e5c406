/** Error body of the platform. */
interface ProblemBody {
  readonly error?: string;
  readonly code?: string;
  readonly hint?: string;
  readonly requestId?: string;
  readonly details?: readonly { readonly path: string; readonly message: string }[];
}

/** The platform, or a proxy (then only `status` is set), rejected the request. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError';
  declare readonly status: number;
  /** Stable error code for programs, such as `not_found`. */
  declare readonly code: string | undefined;
  /** Every invalid path, with the valid form. */
  declare readonly details: readonly { readonly path: string; readonly message: string }[];
  /** What to do about it. */
  declare readonly hint: string | undefined;
  /** Id of this request in the platform's log. */
  declare readonly requestId: string | undefined;
  /** When to retry, in ms. */
  declare readonly retryAfterMs: number | undefined;
  /** The whole body; further members are documented with the operation. */
  declare readonly body: unknown;

  constructor({ status, headers }: Pick<Response, 'status' | 'headers'>, body: unknown) {
    const problem = (typeof body === 'object' && body !== null ? body : {}) as ProblemBody;
    super(problem.error ?? `HTTP ${status}`);
    const { code, details = [], hint, requestId = headers.get('x-request-id') ?? undefined } = problem;
    const retryAfterMs = Number(headers.get('retry-after')) * 1000 || undefined;
    Object.assign(this, { status, code, details, hint, requestId, retryAfterMs, body });
  }
}

/** @throws ProblemError unless the response is successful */
export async function refuse(answer: Response): Promise<never> {
  const text = await answer.text();
  let body: unknown = text;
  try {
    body = JSON.parse(text);
  } catch {
    // A proxy answered with a non-JSON body: its text is all there is.
  }
  throw new ProblemError(answer, body);
}
