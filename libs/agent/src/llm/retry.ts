import { AgentError, errorInfo } from '../core/agent-error.ts';
import type { DriverEvent } from '../core/agent-event.ts';
import type { Effects } from '../effects/effects.ts';
import type { CallOptions, ModelPart, ModelResponse } from './llm-client.ts';
import { cutOff, isRetryableModelError, retryAfterMs } from './model-error.ts';

export interface ModelRetry {
  /** Total attempts, including the first. Default 3. */
  readonly tries: number;
  readonly minMs: number;
  readonly maxMs: number;
}

export const DEFAULT_MODEL_RETRY: ModelRetry = { tries: 3, minMs: 500, maxMs: 8_000 };
const DEFAULT_TIMEOUT_MS = 120_000;
/** A provider that asks for a longer wait is given up. */
const MAX_RETRY_AFTER_MS = 60_000;

export interface AttemptDependencies {
  readonly effects: Effects;
  readonly emit: (event: DriverEvent) => void;
  readonly onPart: (part: ModelPart) => void;
}

/** Calls one provider with the retries of `retry`. @throws the last attempt's error */
export async function withRetries(
  ask: (options: CallOptions) => AsyncIterable<ModelPart>,
  provider: string,
  options: CallOptions,
  retry: ModelRetry,
  { effects, emit, onPart }: AttemptDependencies,
): Promise<ModelResponse> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await oneAttempt(ask, provider, options, onPart);
    } catch (error) {
      options.signal?.throwIfAborted();
      const told = retryAfterMs(error);
      if (!isRetryableModelError(error) || attempt >= retry.tries || (told ?? 0) > MAX_RETRY_AFTER_MS) throw error;
      const backoff = Math.min(retry.maxMs, retry.minMs * 2 ** (attempt - 1));
      const waitMs = told ?? Math.round(effects.random() * backoff);
      emit({ type: 'retry', what: `model ${provider}`, attempt, waitMs, error: errorInfo(error, 'model_unavailable') });
      await effects.sleep(waitMs, options.signal);
    }
  }
}

async function oneAttempt(
  ask: (options: CallOptions) => AsyncIterable<ModelPart>,
  provider: string,
  options: CallOptions,
  onPart: (part: ModelPart) => void,
): Promise<ModelResponse> {
  const deadline = new AbortController();
  const signals = options.signal === undefined ? [deadline.signal] : [options.signal, deadline.signal];
  const late = () => deadline.abort(new AgentError('model_timeout', `${provider} did not answer in time`));
  const timer = setTimeout(late, options.timeoutMs ?? DEFAULT_TIMEOUT_MS);
  const signal = AbortSignal.any(signals);
  const stopped = Promise.withResolvers<never>();
  stopped.promise.catch(() => undefined);
  const stop = () => stopped.reject(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  const parts = ask({ ...options, signal })[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = parts.next();
      next.catch(() => undefined);
      const { done, value } = await Promise.race([next, stopped.promise]);
      if (done === true) throw cutOff(provider, 'the stream ended without an answer');
      if (value.type === 'response') return value.response;
      onPart(value);
    }
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
    // Do not wait for a stream that ignores the signal.
    void Promise.resolve(parts.return?.()).catch(() => undefined);
  }
}
