import { equal } from '../check.ts';
import type { Lab } from '../fault.ts';
import type { Settled } from '../oracle.ts';

/** Slowness from which the machine counts as too busy. */
const BUSY = 1.5;

/**
 * A gateway rejects load that the evaluator is too slow for. On a slow machine, rejections say nothing about the fault.
 */
export function noneRefused(lab: Lab, { report }: Settled): void {
  const refused = report.statuses['429'] ?? 0;
  lab.measure('requests refused', refused, 'times 429');
  if (lab.slowness() < BUSY) lab.check(equal('requests refused', 0, refused));
}
