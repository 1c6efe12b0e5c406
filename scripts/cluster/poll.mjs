import { setTimeout as wait } from 'node:timers/promises';

const INTERVAL_MS = 100;

/** Asks until the answer is truthy and returns it. Throws with `what` and the last error after the deadline. */
export async function poll(what, ask, timeoutMs = 60_000) {
  const end = performance.now() + timeoutMs;
  let last;
  while (performance.now() < end) {
    try {
      const answer = await ask();
      if (answer) return answer;
    } catch (error) {
      last = error;
    }
    await wait(INTERVAL_MS);
  }
  throw new Error(`waited ${timeoutMs / 1000} s for ${what}${last === undefined ? '' : `: ${last.message}`}`);
}
