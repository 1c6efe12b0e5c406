import { ProblemError } from '../../../../libs/client/src/index.ts';

/** Why a request failed, for people. */
export interface Problem {
  /** 0: no response. */
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
    return {
      ...common,
      message: 'The platform did not answer in time',
      hint: 'Check that it is running, then try again.',
    };
  }
  if (error instanceof TypeError) {
    return { ...common, message: 'The platform cannot be reached', hint: 'Check that it is running, then try again.' };
  }
  return { ...common, message: error instanceof Error ? error.message : 'Something went wrong', hint: undefined };
}

/** Why a request failed and what to do about it, in a line. */
export function problemText(error: unknown): string {
  const { message, details, hint } = problemOf(error);
  const parts = details.map((detail) => `${detail.path} ${detail.message}`.trim()).join('; ');
  return `${[parts === '' ? message : parts, hint].filter((part) => part !== undefined).join('. ')}`;
}

/** A retry gets the same answer. */
export function isRefused(error: unknown): boolean {
  return error instanceof ProblemError && error.status >= 400 && error.status < 500;
}
