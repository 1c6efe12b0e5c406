import { equal } from '../check.ts';
import type { Lab } from '../fault.ts';
import type { Load, LoadPlan } from '../load.ts';
import { type Allowance, before, type Settled, settle } from '../oracle.ts';
import type { Site } from '../site.ts';

export interface Story {
  readonly load: LoadPlan;
  readonly allowance?: Allowance;
  /** Causes faults while the load runs. */
  readonly faults: (load: Load) => Promise<void>;
  /** Target of the load, if not the gateway itself. */
  readonly url?: string;
  readonly onLoadEnd?: () => Promise<void> | void;
}

/** Sends load, causes faults meanwhile, waits until everything is processed, and compares. */
export async function underLoad(lab: Lab, site: Site, story: Story): Promise<Settled> {
  const was = await before(site);
  const load = site.load(lab.seed, story.load, story.url);
  lab.note(`load ${load.label}: ${story.load.eventsPerSecond} events/s for ${story.load.seconds} s`);
  try {
    await story.faults(load);
  } catch (error) {
    load.running.stop();
    throw error;
  }
  const report = await load.report;
  lab.note(`load ended: ${report.acceptedEvents} events accepted, responses ${JSON.stringify(report.statuses)}`);
  await story.onLoadEnd?.();
  const settled = await settle(site, load, was, story.allowance);
  lab.note(`processed ${(settled.drainMs / 1_000).toFixed(1)} s after the end of the load`);
  lab.check(...settled.checks);
  lab.measure('accepted', report.acceptedEvents, 'events');
  lab.measure('longest stall of the client', report.longestStallMs, 'ms');
  lab.measure('drained after load', settled.drainMs, 'ms');
  lab.measure('worst trigger', settled.worstTriggerMs, 'ms');
  return settled;
}

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
