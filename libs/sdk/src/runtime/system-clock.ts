import type { RuntimeClock } from './runtime.ts';

interface Unrefable {
  unref?(): void;
}

export const systemClock: RuntimeClock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  timer(run, ms, holding = false) {
    const timer = setTimeout(run, ms);
    if (!holding) (timer as unknown as Unrefable).unref?.();
    return () => clearTimeout(timer);
  },
};
