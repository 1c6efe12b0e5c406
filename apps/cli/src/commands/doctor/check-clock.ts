import { duration } from '../../output/format.ts';
import type { Finding } from './finding.ts';

/** Signatures of webhooks are refused when they are older than minutes; people read times long before that. */
const NOTICED_MS = 5_000;

/**
 * How far this machine's clock is from the platform's. The answer was written at `platformNow`, somewhere between
 * `askedMs` and `answeredMs` on this machine.
 */
export function checkClock(platformNow: string, askedMs: number, answeredMs: number): Finding {
  const platformMs = Date.parse(platformNow);
  const apartMs = platformMs < askedMs ? askedMs - platformMs : Math.max(0, platformMs - answeredMs);
  if (apartMs <= NOTICED_MS) return { check: 'clock', result: 'ok', what: 'agrees with the platform' };
  const direction = platformMs < askedMs ? 'ahead of' : 'behind';
  return {
    check: 'clock',
    result: 'warning',
    what: `this machine is ${duration(apartMs)} ${direction} the platform`,
    advice: 'Synchronise the clocks (NTP): times in lists, and relative ones like --from 1h, are off by this much.',
  };
}
