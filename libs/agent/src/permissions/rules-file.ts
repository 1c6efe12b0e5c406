import { readFile } from 'node:fs/promises';
import { AgentError } from '../core/agent-error.ts';
import { isPlainObject, parseJson } from '../core/json.ts';
import { replaceFile } from '../session/session-files.ts';
import type { PermissionRule, RuleMatcher, RuleScope } from './rule.ts';

const VERSION = 1;
const SCOPES: Readonly<Record<RuleScope['kind'], readonly string[]>> = {
  global: [],
  agent: ['agentType'],
  session: ['sessionId'],
  user: [],
};
const MATCHERS: Readonly<Record<Exclude<RuleMatcher['kind'], 'custom'>, readonly string[]>> = {
  'tool-name': ['name'],
  'tool-category': ['category'],
  'command-prefix': ['prefixes'],
  path: ['glob'],
  regex: ['pattern'],
  all: [],
};

/** `{"version": 1, "rules": [...]}`. @throws AgentError `invalid_config` naming the position */
export async function readRulesFile(path: string): Promise<PermissionRule[]> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw new AgentError('invalid_config', `the rules file ${path} cannot be read`, { cause: error });
  });
  const value = parseJson(text);
  if (!isPlainObject(value) || !Array.isArray(value.rules)) throw invalid(path, 'it must have a list "rules"');
  if (typeof value.version === 'number' && value.version > VERSION)
    throw new AgentError('schema_too_new', `${path} was written by a newer version`);
  return value.rules.map((rule: unknown, index) => readRule(rule, path, `rules[${index}]`));
}

export async function writeRulesFile(path: string, rules: readonly PermissionRule[]): Promise<void> {
  const custom = rules.find(({ matcher }) => matcher.kind === 'custom');
  if (custom !== undefined)
    throw new AgentError('invalid_config', `rule "${custom.id}" has a function, which no file can hold`);
  await replaceFile(path, `${JSON.stringify({ version: VERSION, rules }, null, 2)}\n`, true);
}

function readRule(value: unknown, path: string, at: string): PermissionRule {
  if (!isPlainObject(value)) throw invalid(path, `${at} must be an object`);
  const { id, scope = { kind: 'global' }, priority = 0, matcher, decision } = value;
  if (typeof id !== 'string') throw invalid(path, `${at}.id must be a string`);
  if (typeof priority !== 'number') throw invalid(path, `${at}.priority must be a number`);
  if (decision !== 'allow' && decision !== 'deny' && decision !== 'ask-user')
    throw invalid(path, `${at}.decision must be allow, deny or ask-user`);
  checkKind(scope, SCOPES, path, `${at}.scope`);
  checkKind(matcher, MATCHERS, path, `${at}.matcher`);
  // Every field that is read was checked above.
  return { ...value, scope, priority } as unknown as PermissionRule;
}

function checkKind(value: unknown, kinds: Readonly<Record<string, readonly string[]>>, path: string, at: string): void {
  const fields = isPlainObject(value) && typeof value.kind === 'string' ? kinds[value.kind] : undefined;
  if (!isPlainObject(value) || fields === undefined)
    throw invalid(path, `${at}.kind must be one of ${Object.keys(kinds).join(', ')}`);
  for (const field of fields) {
    const given = value[field];
    const wanted =
      field === 'prefixes'
        ? Array.isArray(given) && given.every((item) => typeof item === 'string')
        : typeof given === 'string';
    if (!wanted) throw invalid(path, `${at}.${field} is missing or of another kind`);
  }
}

function invalid(path: string, why: string): AgentError {
  return new AgentError('invalid_config', `the rules file ${path} cannot be used: ${why}`);
}
