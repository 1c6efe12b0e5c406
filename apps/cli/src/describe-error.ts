import { ProblemError } from '@agentlens/client';
import { CommandError } from './command-error.ts';
import { EXIT } from './exit-codes.ts';
import { plainText } from './output/plain-text.ts';

export interface ErrorReport {
  readonly exitCode: number;
  /** What to print on stderr. */
  readonly lines: readonly string[];
}

const BY_STATUS: Readonly<Record<number, number>> = {
  401: EXIT.notAllowed,
  403: EXIT.notAllowed,
  404: EXIT.notFoundOrConflict,
  408: EXIT.unreachable,
  409: EXIT.notFoundOrConflict,
  412: EXIT.notFoundOrConflict,
  502: EXIT.unreachable,
  503: EXIT.unreachable,
  504: EXIT.unreachable,
};

/** What a failed command prints, and the code it exits with. */
export function describeError(error: unknown): ErrorReport {
  if (error instanceof CommandError) {
    const { exitCode, lines } = report(error.exitCode, error.message, error.hint);
    const [first = '', ...rest] = lines;
    return { exitCode, lines: [first, ...error.details.map((line) => `  ${plainText(line)}`), ...rest] };
  }
  if (error instanceof ProblemError) return describeProblem(error);
  if (error instanceof Error && error.name === 'TimeoutError') {
    const hint = '"--timeout 60" waits longer; "agentlens doctor" looks closer.';
    return report(EXIT.unreachable, 'The platform did not answer in time.', hint);
  }
  if (error instanceof Error) return report(EXIT.failed, error.message);
  return report(EXIT.failed, String(error));
}

function describeProblem(problem: ProblemError): ErrorReport {
  const { status, requestId } = problem;
  const details = problem.details.map(({ path, message }) => `  ${path === '' ? '(whole body)' : path}: ${message}`);
  const more = requestId === undefined ? [] : [`Request ${requestId}`];
  const { exitCode, lines } = report(BY_STATUS[status] ?? EXIT.failed, problem.message, hintFor(problem));
  const [first = '', ...rest] = lines;
  return { exitCode, lines: [first, ...details.map(plainText), ...rest, ...more] };
}

function hintFor({ status, hint, retryAfterMs }: ProblemError): string | undefined {
  if (hint !== undefined) return hint;
  if (status === 401) return 'Sign in with "agentlens login", or set AGENTLENS_API_KEY.';
  if (status === 429 && retryAfterMs !== undefined) return `Try again in ${Math.ceil(retryAfterMs / 1000)} s.`;
  return undefined;
}

function report(exitCode: number, message: string, hint?: string): ErrorReport {
  return { exitCode, lines: [`Error: ${message}`, ...(hint === undefined ? [] : [hint])].map(plainText) };
}
