import { RuleKey } from '@agentlens/contracts';
import { ACTIONS, type ValidDraft, validateDraft } from '@agentlens/guardrails';
import { z } from 'zod';
import { type SourceFile, type SourceProblem, YamlSource } from './yaml-source.ts';

/** Returns the value of an environment variable. */
export type EnvLookup = (name: string) => string | undefined;

type Path = readonly (string | number)[];

const REFERENCE = /\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}/g;

interface Resolved {
  readonly value: Record<string, unknown>;
  /** Paths of the values that contained references. */
  readonly references: readonly Path[];
  readonly missing: readonly { readonly path: Path; readonly name: string }[];
}

/**
 * Replaces each `${env:NAME}` in the strings of a rule.
 * @param env if undefined, uses valid placeholders that are not secret
 */
function resolveReferences(rule: Readonly<Record<string, unknown>>, env: EnvLookup | undefined): Resolved {
  const references: Path[] = [];
  const missing: { path: Path; name: string }[] = [];
  const lookup = (path: Path) => (_: string, name: string) => {
    if (env === undefined) return standIn(rule, path);
    const value = env(name);
    if (value === undefined) missing.push({ path, name });
    return value ?? '';
  };
  const walk = (value: unknown, path: Path): unknown => {
    if (typeof value === 'string') {
      const text = value.replace(REFERENCE, lookup(path));
      if (value.search(REFERENCE) >= 0) references.push(path);
      return text;
    }
    if (Array.isArray(value)) return value.map((item, at) => walk(item, [...path, at]));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, walk(inner, [...path, key])]));
  };
  return { value: walk(rule, []) as Record<string, unknown>, references, missing };
}

/** A well-formed signing secret that is not secret. */
const KNOWN_SECRET = `whsec_${'A'.repeat(32)}`;

function standIn({ actionType }: Readonly<Record<string, unknown>>, path: Path): string {
  const [config, field] = path;
  const action = typeof actionType === 'string' ? ACTIONS.get(actionType) : undefined;
  if (config !== 'actionConfig' || action === undefined) return 'from-the-environment';
  if (action.addresses.includes(String(field))) return 'https://environment.invalid';
  return field === 'secret' ? KNOWN_SECRET : 'from-the-environment';
}

export const FILE_VERSION = 'agentlens/v1';

/** Fields of a rule in a file, in addition to those of the API. */
export const FILE_FIELDS = {
  key: RuleKey,
  /** Id of an existing rule without a ruleset, which this ruleset takes over instead of creating a new one. */
  adopt: z.string().min(1).max(100).optional(),
};

const RuleFile = z.strictObject({
  apiVersion: z.literal(FILE_VERSION, `must be "${FILE_VERSION}"`),
  ruleset: RuleKey,
  rules: z.array(z.looseObject(FILE_FIELDS), 'must be a list of rules'),
});
const FILE_KEYS = Object.keys(RuleFile.shape);

/** A rule read from a file. */
export interface FileRule {
  readonly key: string;
  readonly adopt?: string;
  /** The rule as written, with references to the environment replaced; used as request body. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly draft: ValidDraft;
  /** Paths of values that came from the environment, which must not be displayed. */
  readonly fromEnvironment: readonly string[];
  readonly file: string;
  readonly line: number;
}

/** Rules that are applied together, from one or several files. */
export interface FileRuleset {
  readonly name: string;
  readonly rules: readonly FileRule[];
}

interface ReadRules {
  readonly rulesets: readonly FileRuleset[];
  /** Empty if everything is valid. */
  readonly problems: readonly SourceProblem[];
}

/**
 * Reads rule files and checks each rule like the platform.
 * @param env values for `${env:NAME}`; if undefined, placeholders are used to check and test without secrets
 */
export function readRuleFiles(sources: readonly SourceFile[], env?: EnvLookup): ReadRules {
  const problems: SourceProblem[] = [];
  const rulesets = new Map<string, FileRule[]>();
  const places = new Map<string, FileRule>();
  for (const one of sources) {
    const source = new YamlSource(one);
    const read = readFile(source, env);
    problems.push(...read.problems);
    if (read.ruleset === undefined) continue;
    const rules = rulesets.get(read.ruleset) ?? [];
    rulesets.set(read.ruleset, rules);
    for (const { rule, at } of read.rules) {
      const other = places.get(rule.key);
      if (other === undefined) {
        places.set(rule.key, rule);
        rules.push(rule);
      } else {
        const message = `"${rule.key}" is already defined at ${other.file}:${other.line}`;
        problems.push(source.problemAt(['rules', at, 'key'], message));
      }
    }
  }
  return { rulesets: [...rulesets].map(([name, rules]) => ({ name, rules })), problems };
}

interface ReadFile {
  readonly ruleset?: string;
  readonly rules: readonly { readonly rule: FileRule; readonly at: number }[];
  readonly problems: readonly SourceProblem[];
}

function readFile(source: YamlSource, env: EnvLookup | undefined): ReadFile {
  if (source.problems.length > 0) return { rules: [], problems: source.problems };
  const file = RuleFile.safeParse(source.value);
  if (!file.success) return { rules: [], problems: source.schemaProblems(file.error, FILE_KEYS) };
  const problems: SourceProblem[] = [];
  const rules: { rule: FileRule; at: number }[] = [];
  for (const [at, { key, adopt, ...written }] of file.data.rules.entries()) {
    const { value, references, missing } = resolveReferences(written, env);
    problems.push(
      ...missing.map(({ path, name }) =>
        source.problemAt(['rules', at, ...path], `the environment variable ${name} is not set`),
      ),
    );
    if (missing.length > 0) continue;
    const draft = validateDraft(value);
    if (!draft.ok) {
      problems.push(...source.problemsOf(draft.problem.details ?? [], ['rules', at]));
      continue;
    }
    const place = { file: source.file, line: source.lineOf(['rules', at]) };
    const fromEnvironment = references.map((path) => path.join('.'));
    const rule = { key, ...(adopt === undefined ? {} : { adopt }), body: value, draft: draft.value, fromEnvironment };
    rules.push({ rule: { ...rule, ...place }, at });
  }
  return { ruleset: file.data.ruleset, rules, problems };
}
