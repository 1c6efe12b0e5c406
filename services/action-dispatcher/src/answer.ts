import type { Problem } from '@agentlens/contracts';

/** What the owner of a command says: what it did, or why it did not. */
export type CommandAnswer<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problem: Problem };

export function refusal(
  status: number,
  error: string,
  hint?: string,
): { readonly ok: false; readonly problem: Problem } {
  return { ok: false, problem: { error, status, ...(hint === undefined ? {} : { hint }) } };
}
