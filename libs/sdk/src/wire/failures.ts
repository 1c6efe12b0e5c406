import type { RuntimeClock } from '../runtime/runtime.ts';

/** Why no decision was made about a call. */
export type Bypass =
  | 'unavailable'
  | 'deadline'
  | 'nonsense'
  | 'refused'
  | 'key_refused'
  | 'unregistered'
  | 'unknown_phase';

/** The cause as recorded in the run, and a description. */
export const BYPASSES: Readonly<Record<Bypass, { readonly cause: string; readonly happened: string }>> = {
  unavailable: { cause: 'away', happened: 'the platform was away' },
  deadline: { cause: 'late', happened: 'the answer came too late' },
  nonsense: { cause: 'nonsense', happened: 'the answer was no decision' },
  refused: { cause: 'refused', happened: 'the platform refused the question' },
  key_refused: { cause: 'key_refused', happened: 'the key was refused' },
  unregistered: { cause: 'unregistered', happened: 'the agent could not be registered yet' },
  unknown_phase: { cause: 'unknown_phase', happened: 'the platform does not decide about model calls' },
};

/** The platform rejected the API key as invalid or not permitted. This is a configuration error, never an outage. */
export class ApiKeyRefused extends Error {
  override readonly name = 'ApiKeyRefused';
  /** 401: mistyped, revoked or expired. 403: it lacks the scope `decide`, or is bound to other agents. */
  readonly status: number;

  constructor(status: number) {
    const why =
      status === 403
        ? 'it needs the scope "decide", and has to be bound to this agent if it is bound to any'
        : 'it is mistyped, revoked or expired';
    super(`AgentLens: the key was refused (${status}): ${why}`);
    this.status = status;
  }
}

/** The call timed out. */
export class DeadlineExceeded extends Error {
  override readonly name = 'DeadlineExceeded';
  constructor(ms: number) {
    super(`no answer within ${ms} ms`);
  }
}

/**
 * Settles within `ms`, regardless of `work`: the signal asks it to stop, but the caller does not wait for that. A
 * transport that ignores signals must not hang an agent.
 */
export function within<T>(
  clock: RuntimeClock,
  ms: number,
  work: (signal: AbortSignal) => Promise<T>,
  holding = true,
): Promise<T> {
  const controller = new AbortController();
  return new Promise<T>((resolve, reject) => {
    const cancel = clock.timer(
      () => {
        reject(new DeadlineExceeded(ms));
        controller.abort();
      },
      Math.max(0, ms),
      holding,
    );
    started(work, controller.signal).then(resolve, reject).finally(cancel);
  });
}

async function started<T>(work: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
  return work(signal);
}
