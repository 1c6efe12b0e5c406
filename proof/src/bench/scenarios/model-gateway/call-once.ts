import { type Dispatcher, request } from 'undici';
import { monotonicMs } from '../../../harness/time.ts';
import type { Target } from './peers.ts';

/** Enough for an error of a provider, and for the last frames of a stream. */
const KEPT_CHARS = 1_000;
const SHOWN_CHARS = 200;

/** One call: when its first byte came, and why it failed, if it did. */
export interface CallResult {
  readonly firstByteMs: number | undefined;
  /** Status, code and message; undefined if the answer is whole. */
  readonly failure: string | undefined;
}

/** Sends one chat completion and reads its answer to the end. Never rejects: a failed call is a result, too. */
export async function callOnce(
  { url, headers }: Pick<Target, 'url' | 'headers'>,
  body: string,
  isStream: boolean,
  dispatcher: Dispatcher,
): Promise<CallResult> {
  const sentAtMs = monotonicMs();
  let firstByteMs: number | undefined;
  let status = 0;
  let text = '';
  try {
    const answer = await request(url, {
      ...{ method: 'POST', body, dispatcher },
      headers: { 'content-type': 'application/json', ...headers },
    });
    status = answer.statusCode;
    for await (const part of answer.body) {
      firstByteMs ??= monotonicMs() - sentAtMs;
      text = `${text}${String(part)}`.slice(-KEPT_CHARS);
    }
  } catch (error) {
    return { firstByteMs, failure: describeError(status, error) };
  }
  const isWhole = status === 200 && (!isStream || text.includes('[DONE]'));
  return { firstByteMs, failure: isWhole ? undefined : describeAnswer(status, text) };
}

function describeError(status: number, error: unknown): string {
  const { code = 'error', message = String(error) } = error as { readonly code?: string; readonly message?: string };
  return status === 0 ? `not answered: ${code} ${message}` : `${status}, then cut: ${code} ${message}`;
}

/** The same text for the same cause: without ids, so that failures can be counted by it. */
export function describeAnswer(status: number, text: string): string {
  const { code, message } = readError(text);
  const told = (message ?? text.trim().slice(-SHOWN_CHARS))
    .replace(/Decision [\w-]+/, 'Decision')
    .slice(0, SHOWN_CHARS);
  return [status, code, told === '' ? 'an empty answer' : told].filter((part) => part !== undefined).join(' ');
}

interface ReportedError {
  readonly code?: string;
  readonly message?: string;
}

/** The error of a whole answer, or of the last frame of a stream. */
function readError(text: string): ReportedError {
  const last =
    text
      .trim()
      .split('\n')
      .at(-1)
      ?.replace(/^data: /, '') ?? '';
  try {
    const { error } = JSON.parse(last) as { readonly error?: ReportedError };
    return error ?? {};
  } catch {
    // Text that was cut, or no JSON, is shown as it is.
    return {};
  }
}
