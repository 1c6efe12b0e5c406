import type { RunScope } from '@agentlens/sdk/adapter';
import { guardModelOnly, guardSettings, type LoopScope, type SettingsGuard } from './guard-settings.ts';
import type { AiFunction, AiSettings } from './shapes.ts';

/** Of a call that says nothing of its steps. */
const CALL_STEPS = 1;

/** The scope of a loop that has begun. */
export function loopOf(scope: RunScope, settings: AiSettings): LoopScope {
  return {
    scoped: () => Promise.resolve(scope),
    stopped: () => scope.stopped !== undefined,
    signal: scope.signalWith(settings.abortSignal),
  };
}

/** The scope of a loop whose run is still being begun. A stream is never ended early: its error tells the reader why. */
export function loopOpening(opened: Promise<RunScope>, { abortSignal }: AiSettings): LoopScope {
  const aborted = new AbortController();
  opened.then(
    ({ signal }) => signal.addEventListener('abort', () => aborted.abort(signal.reason), { once: true }),
    // Thrown where the model call waits for it.
    () => undefined,
  );
  const signal = abortSignal ? AbortSignal.any([abortSignal, aborted.signal]) : aborted.signal;
  return { scoped: () => opened, stopped: () => false, signal };
}

/** `generateText` and what else answers when it is done. */
export function guardCall(host: SettingsGuard, original: AiFunction, kind: 'text' | 'object'): AiFunction {
  return (settings) =>
    host.guard.within(settings, (scope) => {
      const loop = loopOf(scope, settings);
      return original({ ...guardedOf(host, settings, loop, kind), abortSignal: loop.signal });
    });
}

/**
 * `streamText` and `streamObject` answer at once, while the run is still being begun: what they call waits for it. A
 * refusal that ends the run reaches the reader as the stream's error, from the next model call.
 */
export function guardStream(host: SettingsGuard, original: AiFunction, kind: 'text' | 'object'): AiFunction {
  return (settings) => {
    const loop = loopOpening(host.guard.open(settings), settings);
    const guarded = guardedOf(host, settings, loop, kind);
    return original({ ...guarded, ...endings(host, guarded, loop.scoped), abortSignal: loop.signal });
  };
}

/** Callbacks that end the run when the user's own have been called. */
export function endings(
  { dialect }: SettingsGuard,
  { onError, onAbort, ...settings }: AiSettings,
  scoped: () => Promise<RunScope>,
): AiSettings {
  const end = settings[dialect.endCallback] ?? settings.onFinish;
  return {
    onError: async (event) => {
      const { error } = event as { error?: unknown };
      // As the framework does without a listener.
      if (onError === undefined) console.error(error);
      else await onError(event);
      const scope = await scoped();
      scope.noteFailure(error);
      await scope.end('error');
    },
    onAbort: async (event) => {
      await onAbort?.(event);
      await (await scoped()).end('interrupted');
    },
    [dialect.endCallback]: async (event: unknown) => {
      await end?.(event);
      await (await scoped()).end();
    },
  };
}

function guardedOf(host: SettingsGuard, settings: AiSettings, loop: LoopScope, kind: 'text' | 'object'): AiSettings {
  return kind === 'text' ? guardSettings(host, settings, loop, CALL_STEPS) : guardModelOnly(host, settings, loop);
}
