import { ProblemError } from '@agentlens/client';
import { plainText } from './output/table.ts';

/** What the command ends with; scripts rely on these numbers. */
export const EXIT = {
  ok: 0,
  /** It was asked for and did not work. */
  failed: 1,
  /** `rules plan --detailed-exitcode`: there are changes. */
  changes: 2,
  /** A call was denied or blocked. */
  blocked: 3,
  /** No valid key, or the key lacks a scope. */
  notAllowed: 4,
  /** What was named is not there, or is not in the state the command needs. */
  notFoundOrConflict: 5,
  /** The platform did not answer, or not in time. */
  unreachable: 6,
  usage: 64,
  interrupted: 130,
} as const;

/** A command cannot go on; `message` says why, `hint` what to do. */
export class CommandError extends Error {
  override readonly name: string = 'CommandError';
  readonly exitCode: number;
  readonly hint: string | undefined;
  /** What the message sums up, one line each. */
  readonly details: readonly string[];

  constructor(
    message: string,
    {
      exitCode = EXIT.failed,
      hint,
      details = [],
    }: { exitCode?: number; hint?: string; details?: readonly string[] } = {},
  ) {
    super(message);
    this.exitCode = exitCode;
    this.hint = hint;
    this.details = details;
  }
}

/** The command line itself is wrong. */
export function usageError(message: string, hint?: string): CommandError {
  return new CommandError(message, { exitCode: EXIT.usage, hint });
}

/** No answer came from `address`. */
export class UnreachableError extends CommandError {
  override readonly name = 'UnreachableError';

  constructor(address: string, why: string) {
    super(`No answer from ${address}: ${why}`, {
      exitCode: EXIT.unreachable,
      hint: 'Is the platform running, and is this its address? "agentlens doctor" looks closer.',
    });
  }
}

interface ErrorReport {
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
