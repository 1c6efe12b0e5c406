import { describe, expect, it } from '@jest/globals';
import { readRuleFiles } from './rule-file.ts';
import { runTest } from './run-test.ts';
import { readTestFile } from './test-file.ts';
import { problemText } from './yaml-source.ts';

const RULES = `apiVersion: agentlens/v1
ruleset: all
rules:
  - key: large
    name: Large
    conditionType: tool_argument
    conditionConfig: { path: amount, type: number, operator: gt, value: 5 }
    actionType: block
  - key: twice
    name: Twice
    conditionType: max_calls
    conditionConfig: { tools: [pay], max: 2 }
    actionType: block
    mode: shadow
  - key: errors
    name: Errors
    conditionType: error_rate_threshold
    conditionConfig: { threshold: 50, minEvents: 2 }
    actionType: pause_agent
  - key: "off"
    name: "Off"
    conditionType: error_rate_threshold
    actionType: pause_agent
    enabled: false
`;
const rules = readRuleFiles([{ file: 'rules.yaml', text: RULES }]).rulesets.flatMap((ruleset) => ruleset.rules);

async function failuresOf(test: string) {
  const { tests, problems } = readTestFile({ file: 't.yaml', text: `rules: rules.yaml\ntests:\n  - name: t\n${test}` });
  expect(problems).toEqual([]);
  const results = await Promise.all(tests.map((one) => runTest(rules, one)));
  return results.flatMap(({ failures }) => failures.map(({ line, message }) => `${line}: ${message}`));
}

const ERROR = '{ type: tool_error, payload: { callId: c, toolName: t, error: e, durationMs: 1 } }';

describe('calls of a test', () => {
  it('are decided like in the evaluator', async () => {
    expect(
      await failuresOf(`    calls:
      - { tool: pay, args: { amount: 1 }, expect: { effect: allow } }
      - { tool: pay, args: { amount: 9 }, expect: { effect: block, rule: large, message: 'Blocked by rule "Large"' } }
      - { tool: pay, args: { amount: 1 }, expect: { effect: allow, wouldBe: allow } }
      - { tool: pay, args: { amount: 1 }, expect: { effect: allow, wouldBe: block } }
`),
    ).toEqual([]);
  });

  it('fail the test at the line of the expectation if the answer differs', async () => {
    expect(
      await failuresOf(`    calls:
      - { tool: pay, args: { amount: 1 } }
      - tool: pay
        args: { amount: 1 }
        expect: { effect: block, rule: large }
`),
    ).toEqual(['8: expected effect block, got allow (Allowed)', '8: expected rule large, got none']);
  });

  it('are one call if asked again under the same id', async () => {
    expect(
      await failuresOf(`    calls:
      - { tool: pay, callId: a, args: { amount: 1 } }
      - { tool: pay, callId: a, args: { amount: 1 } }
      - { tool: pay, callId: b, args: { amount: 1 }, expect: { effect: allow, wouldBe: allow } }
`),
    ).toEqual([]);
  });
});

describe('events of a test', () => {
  it('fire rules once per cooldown', async () => {
    expect(
      await failuresOf(`    events: [${ERROR}, ${ERROR}, ${ERROR}]
    expect: { triggers: [{ rule: errors, value: 100, event: 2, agent: agent }] }
`),
    ).toEqual([]);
  });

  it.each<[string, string, string]>([
    ['a rule that does not fire', '[{ rule: errors }, { rule: errors }]', '5: rule "errors" did not fire'],
    [
      'an unexpected trigger',
      '[]',
      '5: rule "errors" fired for agent "agent" at event 2 with 100, which is not expected',
    ],
    ['another value', '[{ rule: errors, value: 40 }]', '5: expected value 40, got 100'],
    ['another event', '[{ rule: errors, event: 3 }]', '5: expected event 3, got 2'],
    ['a disabled rule', '[{ rule: "off" }]', '5: expected rule off, got errors'],
  ])('fail the test for %s', async (_name, triggers, failure) => {
    const test = `    events: [${ERROR}, ${ERROR}]\n    expect: { triggers: ${triggers} }\n`;
    expect(await failuresOf(test)).toEqual([failure]);
  });

  it('have the form of the API, with invalid fields named', async () => {
    const test = `    events:\n      - { type: tool_eror }\n    expect: { triggers: [] }\n`;
    expect(await failuresOf(test)).toEqual([
      '5: is not a valid event: type: "tool_eror" is not an event type; did you mean "tool_error"?',
    ]);
  });
});

describe('a test', () => {
  it('fails if it names an unknown rule', async () => {
    const test = `    calls:\n      - { tool: pay, expect: { effect: allow, rule: larg } }\n`;
    expect(await failuresOf(test)).toEqual(['5: there is no rule "larg" in these files']);
  });

  it.each<[string, string, string]>([
    [
      'expects nothing',
      'rules: r\ntests:\n  - { name: t, calls: [{ tool: a }] }\n',
      't.yaml:3:5: tests.0: expects nothing',
    ],
    ['has an unknown field', 'rules: r\ntests:\n  - { name: t, evnts: [] }\n', 't.yaml:3:16: tests.0.evnts'],
    [
      'has an invalid duration',
      'rules: r\ntests:\n  - { name: t, calls: [{ after: soon, tool: a, expect: { effect: allow } }] }\n',
      'tests.0.calls.0.after: must be a duration',
    ],
    ['is missing', 'rules: r\ntests: []\n', 't.yaml:2:1: tests: must contain at least one test'],
  ])('is rejected with its line if it %s', (_name, text, problem) => {
    expect(readTestFile({ file: 't.yaml', text }).problems.map(problemText).join()).toContain(problem);
  });
});
