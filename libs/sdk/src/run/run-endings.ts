import type { RunStatus } from '../wire/model.ts';

/** Words that frameworks and this platform use for the end of a run. */
const ENDINGS = {
  success: 'success',
  completed: 'success',
  succeeded: 'success',
  ok: 'success',
  error: 'error',
  failed: 'error',
  timeout: 'timeout',
  timed_out: 'timeout',
  interrupted: 'interrupted',
  cancelled: 'interrupted',
  canceled: 'interrupted',
  aborted: 'interrupted',
  stopped: 'interrupted',
} as const satisfies Readonly<Record<string, RunStatus>>;

/** A run status or a synonym. */
export type RunEnding = keyof typeof ENDINGS;

/** Undefined for an unknown word, which must not count as success. */
export function statusOfEnding(ending: unknown): RunStatus | undefined {
  return typeof ending === 'string' && Object.hasOwn(ENDINGS, ending) ? ENDINGS[ending as RunEnding] : undefined;
}
