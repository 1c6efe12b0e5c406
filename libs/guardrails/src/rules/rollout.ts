import { type DecisionRequest, type GuardrailRule, type RolloutUnit, sha256Hex } from '@agentlens/contracts';

const BUCKETS = 10_000;

/** The rollout of a canary rule, with its unit. */
export interface ActiveRollout {
  readonly percent: number;
  readonly by: RolloutUnit;
}

/** How a canary rule treats one call. `unknown`: the call lacks the unit, so that the rule only records it. */
export type RolloutPlace = 'in' | 'out' | 'unknown';

/**
 * Returns whether a unit is in the rollout of a rule. Depends only on the arguments, so that every service and every SDK
 * agrees. The bucket of a unit does not depend on the percentage: raising it only adds units.
 */
export function isInRollout(ruleId: string, { percent, by }: ActiveRollout, unit: string): boolean {
  return bucketOf(ruleId, by, unit) < Math.round((percent * BUCKETS) / 100);
}

/** Returns a number from 0 to 9999. */
export function bucketOf(ruleId: string, by: RolloutUnit, unit: string): number {
  return Number.parseInt(sha256Hex(`${ruleId}\n${by}\n${unit}`).slice(0, 8), 16) % BUCKETS;
}

/** Returns how a canary rule treats a call. */
export function placeInRollout(ruleId: string, rollout: ActiveRollout, call: RolloutCall): RolloutPlace {
  const unit = unitOf(rollout.by, call);
  if (unit === undefined) return 'unknown';
  return isInRollout(ruleId, rollout, unit) ? 'in' : 'out';
}

type RolloutCall = Pick<DecisionRequest, 'agentId' | 'runId' | 'sessionId' | 'actor' | 'ancestors'>;

/** Returns the unit of a call. A run without parent is its own tree, and without session its own session. */
export function unitOf(by: Exclude<RolloutUnit, 'actor'>, call: RolloutCall): string;
export function unitOf(by: RolloutUnit, call: RolloutCall): string | undefined;
export function unitOf(
  by: RolloutUnit,
  { agentId, runId, sessionId, actor, ancestors }: RolloutCall,
): string | undefined {
  switch (by) {
    case 'tree':
      return ancestors?.at(-1) ?? runId;
    case 'run':
      return runId;
    case 'session':
      return sessionId ?? runId;
    case 'actor':
      return actor?.externalId;
    case 'agent':
      return agentId;
  }
}

/** Returns the rollout of a rule; undefined unless it is a canary. `dryRun` is older than the modes and keeps it in shadow. */
export function rolloutOf(
  { mode, dryRun, rollout }: Pick<GuardrailRule, 'mode' | 'dryRun' | 'rollout'>,
  by: RolloutUnit,
) {
  if (mode !== 'canary' || dryRun || rollout === undefined) return undefined;
  return { percent: rollout.percent, by: rollout.by ?? by };
}
