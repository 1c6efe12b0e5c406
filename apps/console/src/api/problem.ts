import { ProblemError } from '../../../../libs/client/src/index.ts';

/** Why a request did not succeed, for people. */
export interface Problem {
  /** 0: there was no answer. */
  readonly status: number;
  readonly message: string;
  readonly hint: string | undefined;
  readonly details: readonly { readonly path: string; readonly message: string }[];
  readonly requestId: string | undefined;
}

export function problemOf(error: unknown): Problem {
  if (error instanceof ProblemError) return error;
  const common = { status: 0, details: [], requestId: undefined };
  if (error instanceof DOMException && error.name === 'TimeoutError') {
    return { ...common, message: 'The platform did not answer in time', hint: 'Look whether it runs, then try again.' };
  }
  if (error instanceof TypeError) {
    return { ...common, message: 'The platform cannot be reached', hint: 'Look whether it runs, then try again.' };
  }
  return { ...common, message: error instanceof Error ? error.message : 'Something went wrong', hint: undefined };
}

/** What the platform refused it refuses again. */
export function isRefused(error: unknown): boolean {
  return error instanceof ProblemError && error.status >= 400 && error.status < 500;
}
