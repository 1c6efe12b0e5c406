import type { OnCallSchedule, Person, PolicyDraft, StoredPolicy, Team } from '../api/model.ts';
import { visible, visibleName } from '../../../../libs/contracts/src/visible.ts';

export type Policy = StoredPolicy['policy'];

interface Names {
  readonly teams: readonly Team[];
  readonly people: readonly Pick<Person, 'id' | 'name'>[];
  /** The person on call is known where schedules are read. */
  readonly schedules?: readonly Pick<OnCallSchedule, 'id' | 'name' | 'onCall'>[];
}

/** `Finance, Platform, on call: Ann Lee` or `everyone who may review`. */
export function approversText(
  { approvers }: Pick<Policy, 'approvers'>,
  { teams, people, schedules = [] }: Names,
): string {
  if (approvers.anyone) return 'everyone who may review';
  const named = [
    ...approvers.teams.map((id) => teams.find((team) => team.id === id)?.name ?? id),
    ...(approvers.onCall ?? []).map((id) => {
      const schedule = schedules.find((one) => one.id === id);
      return schedule === undefined ? `${id}, on call` : onCallText(schedule);
    }),
    ...approvers.people.map((id) => people.find((person) => person.id === id)?.name ?? id),
  ];
  return named.map(visibleName).join(', ');
}

/** `Platform, on call: Ann Lee` */
export function onCallText({ name, onCall }: Pick<OnCallSchedule, 'name' | 'onCall'>): string {
  return `${name}, on call: ${onCall.name ?? onCall.person ?? 'no person'}`;
}

/** What a policy applies to: `tools pay_*, agents billing-*`. */
export function matchText({ match: { tools, agents, rules } }: Pick<Policy, 'match'>): string {
  const parts = [
    tools.length > 0 && `tools ${tools.map(visible).join(', ')}`,
    agents.length > 0 && `agents ${agents.map(visible).join(', ')}`,
    rules.length > 0 && `${rules.length} ${rules.length === 1 ? 'rule' : 'rules'}`,
  ].filter((part) => part !== false);
  return parts.length === 0 ? 'every call' : parts.join(', ');
}

export const SEPARATIONS: readonly (readonly [Policy['separation'], string])[] = [
  ['none', 'no person'],
  ['starter', 'the person the run works for, and authors of recent changes'],
  ['owner', 'also members of the team that owns the agent'],
];

export const WAYS: readonly (readonly [Policy['via'][number], string])[] = [
  ['console', 'the console'],
  ['cli', 'the command line'],
  ['mcp', 'MCP'],
  ['api', 'the API'],
];

/** Further conditions of a vote. */
export function conditionsText({ separation, via, freshSignInSeconds }: Policy): string {
  const parts = [
    `by ${via.map((way) => WAYS.find(([id]) => id === way)?.[1] ?? way).join(', ')}`,
    separation !== 'none' && `not by ${separation === 'starter' ? 'the starter' : 'the starter or the owning team'}`,
    freshSignInSeconds !== undefined && `sign-in younger than ${durationText(freshSignInSeconds)}`,
  ];
  return parts.filter((part) => part !== false).join(' · ');
}

export function durationText(seconds: number): string {
  if (seconds % 3_600 === 0) return `${seconds / 3_600} h`;
  return seconds % 60 === 0 ? `${seconds / 60} min` : `${seconds} s`;
}

/**
 * People whom a policy names today: an upper bound of those whose vote can count. Undefined if everyone who may review
 * decides.
 */
export function countNamed(
  { approvers }: Pick<Policy | Required<PolicyDraft>, 'approvers'>,
  teams: readonly Team[],
  schedules: readonly OnCallSchedule[] = [],
): number | undefined {
  if (approvers.anyone === true) return undefined;
  const named = new Set(approvers.people);
  for (const team of teams) {
    if (approvers.teams?.includes(team.id) !== true) continue;
    for (const { person } of team.members) named.add(person);
  }
  for (const { id, onCall } of schedules) {
    if (approvers.onCall?.includes(id) === true && onCall.person !== null) named.add(onCall.person);
  }
  return named.size;
}
