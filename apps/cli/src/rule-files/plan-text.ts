import type { FileRuleset } from '@agentlens/replay';
import type { AnswerOf } from '../context.ts';
import type { Paint, Tone } from '../output/style.ts';
import { plainText } from '../output/table.ts';

export type PlanAnswer = AnswerOf<'planRuleset'>;
type Change = PlanAnswer['changes'][number];
type Drift = Change['drift'][number];
type FieldChange = Change['changes'][number];

const SIGNS: Readonly<Record<Change['action'], readonly [string, Tone | undefined]>> = {
  create: ['+', 'good'],
  update: ['~', 'warning'],
  adopt: ['>', 'warning'],
  delete: ['-', 'bad'],
  none: ['=', 'quiet'],
};

/** True if the plan contains changes. */
export function hasChanges({ changes }: Pick<PlanAnswer, 'changes'>): boolean {
  return changes.some(({ action }) => action !== 'none');
}

/** Masks values that rule files take from the environment, because some are secrets. */
export function withoutEnvironment(plan: PlanAnswer, { rules }: FileRuleset): PlanAnswer {
  const hidden = new Map(rules.map(({ key, fromEnvironment }) => [key, new Set(fromEnvironment)]));
  return {
    ...plan,
    changes: plan.changes.map((change) => ({
      ...change,
      changes: change.changes.map((field) =>
        hidden.get(change.key)?.has(field.path) === true ? { path: field.path, secret: true as const } : field,
      ),
    })),
  };
}

export function planText({ ruleset, changes, unlisted }: PlanAnswer, paint: Paint): string {
  const lines = changes
    .filter(({ action, drift }) => action !== 'none' || drift.length > 0)
    .flatMap(changeLines(paint));
  const counted = Object.entries(Object.groupBy(changes, ({ action }) => action)).map(
    ([action, some]) => `${some.length} ${COUNTED[action as Change['action']]}`,
  );
  const left =
    unlisted.length === 0 ? [] : [`Not in the files, left unchanged: ${unlisted.join(', ')} (--prune deletes them)`];
  const sum = hasChanges({ changes })
    ? `Ruleset ${ruleset}: ${counted.join(', ')}.`
    : `No changes. Ruleset ${ruleset} matches its files.`;
  return [...lines, ...left, sum].join('\n');
}

const COUNTED: Readonly<Record<Change['action'], string>> = {
  create: 'to make',
  update: 'to change',
  adopt: 'to adopt',
  delete: 'to delete',
  none: 'unchanged',
};

function changeLines(paint: Paint) {
  return ({ key, name, action, changes, loosens, drift }: Change): string[] => {
    const [sign, tone] = SIGNS[action];
    const warning = loosens === undefined ? '' : paint('bad', loosens === 'yes' ? '  LOOSENS' : '  may loosen');
    return [
      `${paint(tone, `${sign} ${key}`)}  ${plainText(name)}${warning}`,
      ...changes.map((field) => `    ${fieldText(field)}`),
      ...drift.map((one) => paint('warning', `    ! ${driftText(one)}`)),
    ];
  };
}

/** Describes a change to a rule that was made outside its ruleset. */
export function driftText({ version, changedAt, changedBy = 'an unknown author', reason, changes }: Drift): string {
  const why = reason === undefined ? '' : ` (${JSON.stringify(reason)})`;
  return plainText(`version ${version} by ${changedBy} at ${changedAt}${why}: ${changes.map(fieldText).join(', ')}`);
}

function fieldText({ path, from, to, secret }: FieldChange): string {
  return secret === true ? `${path}: changed` : `${path}: ${shown(from)} → ${shown(to)}`;
}

function shown(value: unknown): string {
  return value === undefined ? 'nothing' : plainText(JSON.stringify(value));
}
