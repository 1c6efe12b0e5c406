import { EXIT } from './exit-codes.ts';

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
