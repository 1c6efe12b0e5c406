/** What every refusal of the platform carries. */
interface ProblemBody {
  readonly error?: string;
  readonly code?: string;
  readonly hint?: string;
  readonly requestId?: string;
  readonly details?: readonly { readonly path: string; readonly message: string }[];
}

/** The platform refused the request, or something on the way did (then only `status` says why). */
export class ProblemError extends Error {
  override readonly name = 'ProblemError';
  declare readonly status: number;
  /** Stable, for programs: `not_found`. */
  declare readonly code: string | undefined;
  /** Each path that is wrong, and what would be right. */
  declare readonly details: readonly { readonly path: string; readonly message: string }[];
  /** What to do about it. */
  declare readonly hint: string | undefined;
  /** What the platform's log knows this request by. */
  declare readonly requestId: string | undefined;
  /** When to come back, ms. */
  declare readonly retryAfterMs: number | undefined;
  /** The whole answer: further members are documented with the operation. */
  declare readonly body: unknown;

  constructor({ status, headers }: Pick<Response, 'status' | 'headers'>, body: unknown) {
    const problem = (typeof body === 'object' && body !== null ? body : {}) as ProblemBody;
    super(problem.error ?? `HTTP ${status}`);
    const { code, details = [], hint, requestId = headers.get('x-request-id') ?? undefined } = problem;
    const retryAfterMs = Number(headers.get('retry-after')) * 1000 || undefined;
    Object.assign(this, { status, code, details, hint, requestId, retryAfterMs, body });
  }
}

/** @throws ProblemError unless the answer is a success. */
export async function refuse(answer: Response): Promise<never> {
  const text = await answer.text();
  let body: unknown = text;
  try {
    body = JSON.parse(text);
  } catch {
    // Something between us and the platform answered: the text is all there is.
  }
  throw new ProblemError(answer, body);
}
