import { describe, expect, it } from '@jest/globals';
import { readRuleFiles } from './rule-file.ts';
import { problemText } from './yaml-source.ts';

const HEAD = 'apiVersion: agentlens/v1\nruleset: payments\nrules:\n';
const RULE = `  - key: pay
    name: Payments
    conditionType: tool_argument
    conditionConfig: { path: amount, type: number, operator: gt, value: 5 }
    actionType: block
`;
const problemsOf = (...texts: string[]) =>
  readRuleFiles(texts.map((text, at) => ({ file: `${at}.yaml`, text }))).problems.map(problemText);

describe('rule file', () => {
  it('contains rules with the fields of the API and a key', () => {
    const { rulesets, problems } = readRuleFiles([{ file: 'a.yaml', text: HEAD + RULE }]);
    expect(problems).toEqual([]);
    expect(rulesets).toMatchObject([
      { name: 'payments', rules: [{ key: 'pay', line: 4, draft: { name: 'Payments', cooldownMinutes: 15 } }] },
    ]);
    expect(rulesets[0]?.rules[0]?.body).not.toHaveProperty('key');
  });

  it('can be one of several files of a ruleset', () => {
    const other = HEAD + RULE.replace('key: pay', 'key: other');
    const { rulesets } = readRuleFiles([
      { file: 'a.yaml', text: HEAD + RULE },
      { file: 'b.yaml', text: other.replaceAll('\n', '\r\n') },
    ]);
    expect(rulesets.map(({ rules }) => rules.map(({ key, file }) => [key, file]))).toEqual([
      [
        ['pay', 'a.yaml'],
        ['other', 'b.yaml'],
      ],
    ]);
  });

  it.each<[string, string, string]>([
    [
      'an unknown field of a rule, with a suggestion',
      HEAD + RULE.replace('name:', 'nmae:'),
      '0.yaml:5:5: rules.0.nmae',
    ],
    ['an unknown field of the file', `version: 1\n${HEAD}${RULE}`, '0.yaml:1:1: version: unknown key "version"'],
    ['a wrong value in a config', HEAD + RULE.replace('gt', 'above'), '0.yaml:7:52: rules.0.conditionConfig.operator'],
    ['an unknown condition', HEAD + RULE.replace('tool_argument', 'tool_arg'), '0.yaml:6:5: rules.0.conditionType'],
    ['an invalid key', HEAD + RULE.replace('pay\n', 'Pay All\n'), '0.yaml:4:5: rules.0.key: must be lower-case'],
    [
      'another version of the format',
      HEAD.replace('v1', 'v2') + RULE,
      '0.yaml:1:1: apiVersion: must be "agentlens/v1"',
    ],
    ['a tab', `${HEAD}\t- key: x\n`, '0.yaml:4:1'],
    ['a duplicate key', `${HEAD}${RULE}    name: Again\n`, '0.yaml:9:5'],
    ['a merge key', `${HEAD}  - &a\n    key: x\n  - <<: *a\n`, '0.yaml:6:5: merge keys'],
    ['a second document', `${HEAD}${RULE}---\na: 1\n`, '0.yaml:9:1: a file holds one document'],
    ['an empty file', '', '0.yaml:1:1'],
  ])('is rejected with file, line and path for %s', (_name, text, problem) => {
    expect(problemsOf(text).join('\n')).toContain(problem);
  });

  it('is rejected for aliases that expand without limit', () => {
    const lines = Array.from(
      { length: 12 },
      (_, i) => `a${i}: &a${i} [${i === 0 ? '1' : `*a${i - 1}, *a${i - 1}, *a${i - 1}`}]`,
    );
    expect(problemsOf(lines.join('\n'))[0]).toContain('aliases');
  });

  it('is rejected for a key that another file has', () => {
    expect(problemsOf(HEAD + RULE, HEAD + RULE)).toEqual([
      '1.yaml:4:5: rules.0.key: "pay" is already defined at 0.yaml:4',
    ]);
  });
});

describe('references to the environment', () => {
  const reference = (name: string) => `$${`{env:${name}}`}`;
  const text = `${HEAD}  - key: hook
    name: Hook
    conditionType: cost_limit
    actionType: notify_webhook
    actionConfig:
      url: ${reference('HOOK_URL')}
      headers: { authorization: "Bearer ${reference('HOOK_TOKEN')}" }
`;
  const source = { file: 'a.yaml', text };

  it('are replaced, and their paths are returned', () => {
    const env: Record<string, string> = { HOOK_URL: `https://a.example/${reference('HOOK_TOKEN')}`, HOOK_TOKEN: 't' };
    const [rule] = readRuleFiles([source], (name) => env[name]).rulesets[0]?.rules ?? [];
    expect(rule?.body.actionConfig).toEqual({
      url: `https://a.example/${reference('HOOK_TOKEN')}`,
      headers: { authorization: 'Bearer t' },
    });
    expect(rule?.fromEnvironment).toEqual(['actionConfig.url', 'actionConfig.headers.authorization']);
  });

  it('are rejected if the variable is not set', () => {
    const { problems } = readRuleFiles([source], () => undefined);
    expect(problems.map(problemText)).toEqual([
      'a.yaml:9:7: rules.0.actionConfig.url: the environment variable HOOK_URL is not set',
      'a.yaml:10:18: rules.0.actionConfig.headers.authorization: the environment variable HOOK_TOKEN is not set',
    ]);
  });

  it('have placeholder values when checking without secrets', () => {
    expect(readRuleFiles([source]).problems).toEqual([]);
  });
});
