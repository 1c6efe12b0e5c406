import type { Trigger } from '@agentlens/contracts';
import { meets, withoutNoise } from '../catalog/threshold.ts';
import type { TickRule } from '../rules/active-rule.ts';
import { makeTrigger } from './make-trigger.ts';

const MINUTE_MS = 60_000;

/** Rounds down to the minute, so that every replica that ticks within it creates the same triggers. */
export function minuteOf(nowMs: number): number {
  return Math.floor(nowMs / MINUTE_MS) * MINUTE_MS;
}

interface TickReading {
  readonly value: number | null;
  /** Becomes final if its cooldown can be claimed. */
  readonly trigger: Trigger | null;
}

/** Measures one tick rule for one agent, at the minute of `nowMs`. */
export function tick(rule: TickRule, agentId: string, score: number | null, nowMs: number): TickReading {
  const measured = rule.measure(score);
  if (measured === null || !Number.isFinite(measured)) return { value: null, trigger: null };
  const value = withoutNoise(measured);
  if (!meets(value, rule.threshold)) return { value, trigger: null };
  return { value, trigger: makeTrigger(rule, { agentId, atMs: minuteOf(nowMs), value }) };
}
