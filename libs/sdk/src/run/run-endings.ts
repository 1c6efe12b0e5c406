import type { RunStatus } from '../wire/model.ts';

/** What frameworks and this platform's own answers call the ends of a run. */
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

/** A status of a run, or another word for one. */
export type RunEnding = keyof typeof ENDINGS;

/** Undefined for a word that is none of them: it must not pass for a success. */
export function statusOfEnding(ending: unknown): RunStatus | undefined {
  return typeof ending === 'string' && Object.hasOwn(ENDINGS, ending) ? ENDINGS[ending as RunEnding] : undefined;
}
