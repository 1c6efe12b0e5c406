import { ProblemError } from '@agentlens/client';
import { plainText } from './output/table.ts';
import { PROGRAM } from './program-name.ts';

/** Exit codes. Scripts rely on these numbers. */
export const EXIT = {
  ok: 0,
  /** The command ran and failed. */
  failed: 1,
  /** `rules plan --detailed-exitcode`: there are changes. */
  changes: 2,
  /** A call was denied or blocked. */
  blocked: 3,
  /** No valid key, or the key lacks a scope. */
  notAllowed: 4,
  /** The object does not exist or is not in the required state. */
  notFoundOrConflict: 5,
  /** The platform did not answer in time. */
  unreachable: 6,
  usage: 64,
  interrupted: 130,
} as const;

/** A command cannot continue: `message` gives the reason, `hint` the fix. */
export class CommandError extends Error {
  override readonly name: string = 'CommandError';
  readonly exitCode: number;
  readonly hint: string | undefined;
  /** Details, one line each. */
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

/** Wrong usage of the command line. */
export function usageError(message: string, hint?: string): CommandError {
  return new CommandError(message, { exitCode: EXIT.usage, hint });
}

/** `address` did not answer. */
export class UnreachableError extends CommandError {
  override readonly name = 'UnreachableError';

  constructor(address: string, why: string) {
    super(`No answer from ${address}: ${why}`, {
      exitCode: EXIT.unreachable,
      hint: `Is the platform running, and is this its address? For a diagnosis: ${PROGRAM} doctor`,
    });
  }
}

interface ErrorReport {
  readonly exitCode: number;
  /** Lines for stderr. */
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

/** Message and exit code of a failed command. */
export function describeError(error: unknown): ErrorReport {
  if (error instanceof CommandError) {
    const { exitCode, lines } = report(error.exitCode, error.message, error.hint);
    const [first = '', ...rest] = lines;
    return { exitCode, lines: [first, ...error.details.map((line) => `  ${plainText(line)}`), ...rest] };
  }
  if (error instanceof ProblemError) return describeProblem(error);
  if (error instanceof Error && error.name === 'TimeoutError') {
    const hint = `To wait longer: --timeout 60. For a diagnosis: ${PROGRAM} doctor`;
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
  if (status === 401) return `Sign in with "${PROGRAM} login" or set AGENTLENS_API_KEY.`;
  if (status === 429 && retryAfterMs !== undefined) return `Try again in ${Math.ceil(retryAfterMs / 1000)} s.`;
  return undefined;
}

function report(exitCode: number, message: string, hint?: string): ErrorReport {
  return { exitCode, lines: [`Error: ${message}`, ...(hint === undefined ? [] : [hint])].map(plainText) };
}
