import { visible } from '@agentlens/contracts/visible';
import { defaultOnUnavailable } from '@agentlens/replay';
import { Document, visit } from 'yaml';
import type { RuleAnswer } from '../context.ts';

/** Response members that rule files do not contain. */
const NOT_IN_FILES = [
  'id',
  'tenantId',
  'version',
  'createdAt',
  'updatedAt',
  'key',
  'ruleset',
  'appliedVersion',
  'policyId',
  'suspended',
  'meaningVersion',
];
/** Defaults, which rule files omit. */
function defaultsFor({ actionType }: RuleAnswer): Readonly<Record<string, unknown>> {
  return {
    ...{ enabled: true, dryRun: false, direction: 'both', priority: 0, mode: 'enforce', cooldownMinutes: 15 },
    ...{ onMissing: 'allow', onUnavailable: defaultOnUnavailable(actionType) },
  };
}
const MASK = '***';

/** Converts rules of the platform to a rule file: each with a key and without secrets. */
export function fileOf(rules: readonly RuleAnswer[], ruleset: string) {
  const taken = new Set(rules.flatMap(({ key }) => key ?? []));
  return { apiVersion: 'agentlens/v1', ruleset, rules: rules.map((rule) => written(rule, taken)) };
}

function written(rule: RuleAnswer, taken: Set<string>) {
  const key = rule.key ?? proposedKey(rule.name, taken);
  const defaults = defaultsFor(rule);
  const fields = Object.entries(rule).filter(
    ([name, value]) => !NOT_IN_FILES.includes(name) && value !== defaults[name],
  );
  return {
    key,
    ...(rule.ruleset === undefined ? { adopt: rule.id } : {}),
    ...Object.fromEntries(
      fields.filter(([, value]) => !isEmpty(value)).map(([name, value]) => [name, withoutMasks(value, [key, name])]),
    ),
  };
}

/** Replaces a masked secret with a reference to an environment variable. */
function withoutMasks(value: unknown, path: readonly string[]): unknown {
  if (typeof value === 'string') return value.startsWith(MASK) ? `$${`{env:${variableOf(path)}}`}` : value;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, withoutMasks(inner, [...path, name])]));
}

/** `LARGE_PAYMENTS_SECRET` for `large-payments`, `actionConfig`, `secret`. */
function variableOf(path: readonly string[]): string {
  const words = path.filter((part) => part !== 'actionConfig').join('_');
  return words
    .replace(/[^A-Za-z0-9]+/g, '_')
    .replace(/^(?=\d)/, '_')
    .toUpperCase();
}

function proposedKey(name: string, taken: Set<string>): string {
  const base =
    name
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .replace(/^-+|-+$/g, '')
      .slice(0, 56) || 'rule';
  let key = base;
  for (let next = 2; taken.has(key); next++) key = `${base}-${next}`;
  taken.add(key);
  return key;
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length === 0;
}

/** YAML whose texts hold no raw control or direction character: they are escapes inside of double quotes. */
export function yamlOf(file: ReturnType<typeof fileOf>): string {
  const document = new Document(file);
  visit(document, {
    Scalar: (_key, node) => {
      if (typeof node.value === 'string' && visible(node.value) !== node.value) node.type = 'QUOTE_DOUBLE';
    },
  });
  const text = document.toString({ lineWidth: 0 });
  return text.replace(/[^\n -~]/gu, (character) => {
    const shown = visible(character);
    // YAML has eight digits where `visible` has braces.
    return shown.replace(/^\\u\{([0-9a-f]+)\}$/, (_, code: string) => `\\U${code.padStart(8, '0')}`);
  });
}
