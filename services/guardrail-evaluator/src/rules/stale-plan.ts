import type { FieldChange, ProblemDetail, RulesetBasis, RulesetPlan } from '@agentlens/contracts';
import type { RecordedVersion, TenantRules } from './rule-transaction.ts';

/** Lists the changes since a plan was made on `basis`, by rule. Empty if the plan is still current. */
export async function staleDetails(
  rules: Pick<TenantRules, 'changesSince' | 'lastOfKeys'>,
  { basis: current, changes }: RulesetPlan,
  basis: RulesetBasis,
): Promise<ProblemDetail[]> {
  const keys = [...new Set([...Object.keys(current), ...Object.keys(basis)])].filter(
    (key) => current[key] !== basis[key],
  );
  if (keys.length === 0) return [];
  const ids = new Map(changes.flatMap(({ key, ruleId }) => (ruleId === undefined ? [] : [[key, ruleId] as const])));
  const last = await rules.lastOfKeys(keys);
  const since = new Map<string, number>();
  for (const key of keys) {
    const id = ids.get(key) ?? last.get(key)?.ruleId;
    if (id !== undefined && current[key] !== undefined) since.set(id, basis[key] ?? 0);
  }
  const changed = await rules.changesSince(since);
  return keys.map((key) => {
    const id = ids.get(key) ?? last.get(key)?.ruleId;
    const newest = changed.filter(({ ruleId }) => ruleId === id).at(-1) ?? last.get(key);
    return {
      path: key,
      message: newest === undefined ? 'did not exist when the plan was made' : textOf(newest, basis[key]),
    };
  });
}

function textOf({ deleted, drift }: RecordedVersion, planned: number | undefined): string {
  const { version, changedAt, changedBy = 'an unknown author', reason, changes } = drift;
  const what = deleted ? 'was deleted' : planned === undefined ? 'was created or taken over' : 'was changed';
  const fields = changes.length === 0 ? '' : `: ${changes.map(fieldText).join(', ')}`;
  const why = reason === undefined ? '' : ` ("${reason}")`;
  return `${what} by ${changedBy} at ${changedAt}${fields}${why}; it is at version ${version}, not ${planned ?? 'in the plan'}`;
}

function fieldText({ path, from, to, secret }: FieldChange): string {
  if (secret === true) return path;
  return `${path} ${shown(from)} → ${shown(to)}`;
}

const SHOWN = 60;

function shown(value: unknown): string {
  if (value === undefined) return 'nothing';
  const text = JSON.stringify(value);
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
}
