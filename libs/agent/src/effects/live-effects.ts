import { uuidv7 } from 'uuidv7';
import type { Effects } from './effects.ts';
import { abortableSleep } from './sleep.ts';

/** The machine's clock, ids and randomness; everything else passes through. */
export function liveEffects(): Effects {
  return LIVE;
}

const LIVE: Effects = {
  now: () => Date.now(),
  newId: () => uuidv7(),
  random: () => Math.random(),
  sleep: abortableSleep,
  perform: (_kind, _request, run) => run(),
  stream: (_kind, _request, run) => run(),
  sequential: false,
  replaying: false,
  get inside() {
    return LIVE;
  },
};
