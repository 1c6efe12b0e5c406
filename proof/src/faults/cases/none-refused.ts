import { equal } from '../check.ts';
import type { Lab } from '../fault.ts';
import type { Settled } from '../oracle.ts';

/** Slowness from which on the machine has too much else to do. */
const BUSY = 1.5;

/** A gateway refuses what the evaluator is too slow for; where the machine itself is slow, that tells nothing of the fault. */
export function noneRefused(lab: Lab, { report }: Settled): void {
  const refused = report.statuses['429'] ?? 0;
  lab.measure('requests refused', refused, 'times 429');
  if (lab.slowness() < BUSY) lab.check(equal('requests refused', 0, refused));
}
