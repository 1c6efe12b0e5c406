import { type COMMANDS, HOUR_MS, type QuestionOf } from '@agentlens/contracts';
import { visible, visibleName } from '@agentlens/contracts/visible';
import { percent } from '@agentlens/guardrails';
import type { Unusual } from '@agentlens/operations';

type Change = QuestionOf<typeof COMMANDS.reportChanges>['changes'][number];

/** Stands for the agent of a change that is not one agent's. */
const ALL_AGENTS = 'all-agents';

/** What differs from before, as alerts. Each names its rule version, run or hour, so that it is raised once. */
export function describeChanges({ changedRules, spend, errors, loops }: Unusual, nowMs: number): Change[] {
  const hour = new Date(nowMs - (nowMs % HOUR_MS)).toISOString();
  return [
    ...changedRules.map(describeRule),
    ...(spend === null ? [] : [describeSpend(spend, hour)]),
    ...(errors === null ? [] : [describeErrors(errors, hour)]),
    ...loops.map((loop) => describeLoop(loop, hour)),
  ];
}

function describeRule(rule: Unusual['changedRules'][number]): Change {
  const { ruleId, name, version, changedAt, changedBy, ruleset } = rule;
  const { asked, stopped, askedBefore, stoppedBefore, deploy } = rule;
  const by = changedBy === null ? '' : ` by ${visible(changedBy)}`;
  const before = askedBefore === 0 ? '' : ` Before, it stopped ${percent(stoppedBefore / askedBefore)} of its calls.`;
  const after = deploy === undefined ? '' : ` The deploy of ${visible(deploy)} was recorded just before.`;
  const why = ruleset === undefined ? '' : ' --reason "<why>"';
  const undo =
    version === 1 ? '' : ` To restore the version before: agentlens rules revert ${ruleId} ${version - 1}${why}`;
  return {
    about: `${ruleId} v${version}`,
    at: changedAt,
    ruleId,
    agentId: rule.agentId ?? ALL_AGENTS,
    // A rule that was not enforced before may do just what it is for.
    severity: askedBefore === 0 ? 'warn' : 'error',
    title: `The rule "${visibleName(name)}" stops ${percent(stopped / asked)} of its calls since it ${version === 1 ? 'was created' : 'changed'}`,
    message: `Version ${version}${by} stopped ${stopped} of ${asked} calls since ${changedAt}.${before}${after}${undo}`,
  };
}

function describeSpend({ usd, usualUsd, of }: NonNullable<Unusual['spend']>, hour: string): Change {
  const usual = nameUsual(of);
  const much = usualUsd === 0 ? 'is more than' : `is ${Math.round(usd / usualUsd)} times`;
  return {
    about: 'spend',
    at: hour,
    agentId: ALL_AGENTS,
    severity: 'error',
    title: `Spend ${much} the ${usual}`,
    message: `$${usd.toFixed(2)} in the last hour; the ${usual} is $${usualUsd.toFixed(2)}. Who spends it: agentlens spend --from 1h`,
  };
}

function describeErrors({ errors, usualErrors, of }: NonNullable<Unusual['errors']>, hour: string): Change {
  const usual = nameUsual(of);
  const much = usualErrors === 0 ? 'are more than' : `are ${Math.round(errors / usualErrors)} times`;
  return {
    about: 'errors',
    at: hour,
    agentId: ALL_AGENTS,
    severity: 'error',
    title: `Errors ${much} the ${usual}`,
    message: `${errors} errors in the last hour; the ${usual} is ${Math.round(usualErrors)}. Which runs: agentlens runs list --errors --from 1h`,
  };
}

function nameUsual(of: 'this hour' | 'last day'): string {
  return of === 'this hour' ? 'usual at this hour of the day' : 'hourly mean of the last day';
}

function describeLoop({ runId, agentId, toolName, times, since }: Unusual['loops'][number], hour: string): Change {
  return {
    about: `loop ${toolName}`.slice(0, 500),
    at: hour,
    runId,
    agentId,
    severity: 'warn',
    title: `A run repeats one call of ${visibleName(toolName)}`,
    message: `The same arguments ${times} times since ${since}. To look: agentlens runs show ${visible(runId)}. To end it: agentlens runs kill ${visible(runId)}`,
  };
}
