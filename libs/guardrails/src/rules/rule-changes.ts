import { canonicalJson, type FieldChange } from '@agentlens/contracts';
import { mapActionSecrets } from '../actions/index.ts';
import { draftOf, type ValidDraft } from './validate-rule.ts';

/** Fields that are compared by member. */
const NESTED = ['conditionConfig', 'actionConfig', 'selector', 'rollout', 'guard', 'rollback'];

/** Returns the fields that differ between two rules, sorted by path. The secrets of both must be unsealed. */
export function ruleChanges(before: ValidDraft, after: ValidDraft): FieldChange[] {
  const secrets = new Set([...secretPaths(before), ...secretPaths(after)]);
  const [from, to] = [fieldsOf(before), fieldsOf(after)];
  const paths = [...new Set([...from.keys(), ...to.keys()])].sort();
  return paths
    .filter((path) => !isSame(from.get(path), to.get(path)))
    .map((path) => {
      if (secrets.has(path)) return { path, secret: true };
      return {
        path,
        ...(from.has(path) ? { from: from.get(path) } : {}),
        ...(to.has(path) ? { to: to.get(path) } : {}),
      };
    });
}

/** Fields that decide when a rule acts, and those for people. All others are its meaning. */
const NOT_MEANING =
  /^(name|description|enabled|mode|dryRun|rollout|guard|rollback|priority|cooldownMinutes|policyId)(\.|$)/;

/** Returns true if a rule checks or does something else than before, so that approvals of it no longer hold. */
export function changesMeaning(changes: readonly FieldChange[]): boolean {
  return changes.some(({ path }) => !NOT_MEANING.test(path));
}

/** Returns the values of a rule by path, flattening nested objects. */
function fieldsOf(rule: ValidDraft): Map<string, unknown> {
  const fields = new Map<string, unknown>();
  for (const [key, value] of Object.entries(draftOf(rule))) {
    if (NESTED.includes(key)) flatten(key, value, fields);
    else fields.set(key, value);
  }
  return fields;
}

function flatten(path: string, value: unknown, into: Map<string, unknown>): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    into.set(path, value);
    return;
  }
  const members = Object.entries(value).filter(([, inner]) => inner !== undefined);
  if (members.length === 0 && path.includes('.')) into.set(path, value);
  for (const [key, inner] of members) flatten(`${path}.${key}`, inner, into);
}

function isSame(one: unknown, other: unknown): boolean {
  if (one === undefined || other === undefined) return one === other;
  return canonicalJson(one) === canonicalJson(other);
}

function secretPaths({ actionType, actionConfig }: ValidDraft): string[] {
  const paths: string[] = [];
  mapActionSecrets(actionType, actionConfig, (text, path) => {
    paths.push(`actionConfig.${path}`);
    return text;
  });
  return paths;
}
