import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { runCli, type SentRequest } from '../run-cli.testing.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rule-files-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const cli = (words: string, answer?: (request: SentRequest) => unknown) =>
  runCli(words.split(' '), { folder, ...(answer && { answer }) });
const textOf = (file: string) => readFileSync(join(folder, file), 'utf8');

describe('rules init', () => {
  it('writes a rule file and a test that pass as they are, without a platform', async () => {
    const { exitCode, stdout, requests } = await cli('rules init guards --ruleset payments');
    expect({ exitCode, stdout, requests }).toEqual({
      exitCode: 0,
      requests: [],
      stdout: expect.stringContaining('agentlens rules test guards'),
    });
    expect(textOf('guards/rules.yaml')).toContain('\nruleset: payments\n');
    expect((await cli('rules validate guards')).stdout).toBe('payments: 3 valid rules.\n');
    expect(await cli('rules test guards')).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining('4 passed, 0 failed'),
    });
  });

  it('overwrites nothing', async () => {
    writeFileSync(join(folder, 'rules.test.yaml'), 'mine');
    expect(await cli('rules init .')).toMatchObject({
      exitCode: 5,
      stderr: expect.stringContaining('rules.test.yaml exists already'),
    });
    expect(readdirSync(folder)).toEqual(['rules.test.yaml']);
    expect(textOf('rules.test.yaml')).toBe('mine');
  });

  it('rejects a name of a ruleset that YAML would read as something else', async () => {
    expect((await cli('rules init --ruleset a:b')).exitCode).toBe(64);
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe('rules promote', () => {
  const rule = { id: 'r-1', key: 'large-payments', name: 'Large', ruleset: 'rules' };
  const decision = {
    id: 'd-1',
    decidedAt: '2026-11-24T10:00:00Z',
    agentId: 'payer',
    runId: 'run-1',
    toolName: 'pay_card',
    phase: 'tool.before',
    arguments: { amount: 1500 },
    wouldHave: 'ask',
    verdict: 'ALLOW',
    effect: 'allow',
  };
  const platform = ({ path }: SentRequest) =>
    path.startsWith('/api/guardrails')
      ? { rules: [rule], total: 1, hasMore: false }
      : { decisions: [decision], hasMore: false };

  it('shows what the rule would have stopped, and changes its mode and nothing else', async () => {
    await cli('rules init guards');
    const before = textOf('guards/rules.yaml');
    const { exitCode, stderr, stdout, requests } = await cli('rules promote guards large-payments --yes', platform);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: expect.stringMatching(/1 calls?[\s\S]*amount 1500/) });
    expect(stdout).toContain('agentlens rules apply guards');
    expect(textOf('guards/rules.yaml')).toBe(before.replace('mode: shadow', 'mode: enforce'));
    expect(requests.at(-1)?.path).toMatch(/ruleId=r-1/);
    expect((await cli('rules test guards')).exitCode).toBe(0);
  });

  it.each([
    ['mode: shadow', 'mode: enforce'],
    ["mode: 'shadow'  # for now", 'mode: enforce  # for now'],
    ['dryRun: true', 'dryRun: false'],
    ['{ mode: shadow }', undefined],
  ])('writes %s as %s', async (written, expected) => {
    const text = (mode: string) => `apiVersion: agentlens/v1
ruleset: rules
rules:
  - key: other
    name: Other
    mode: shadow
    conditionType: tool_name
    conditionConfig: { value: "x" }
    actionType: block
  - key: large-payments
    name: Large
    ${mode}
    conditionType: tool_name
    conditionConfig: { value: "pay_*" }
    actionType: block
`;
    writeFileSync(join(folder, 'rules.yaml'), text(written));
    const { exitCode } = await cli('rules promote rules.yaml large-payments --yes', platform);
    expect(exitCode).toBe(expected === undefined ? 1 : 0);
    expect(textOf('rules.yaml')).toBe(text(expected ?? written));
  });

  it('says that a rule already acts, or which rules there are', async () => {
    await cli('rules init guards');
    await cli('rules promote guards large-payments --yes', platform);
    expect(await cli('rules promote guards large-payments --yes', platform)).toMatchObject({
      exitCode: 5,
      stderr: expect.stringMatching(/rules\.yaml:\d+: .*is not in shadow/),
    });
    expect(await cli('rules promote guards large --yes', platform)).toMatchObject({
      exitCode: 64,
      stderr: expect.stringContaining('large-payments, no-secrets-in-files'),
    });
  });

  it('changes nothing without a yes', async () => {
    await cli('rules init guards');
    const before = textOf('guards/rules.yaml');
    expect((await cli('rules promote guards large-payments', platform)).exitCode).toBe(64);
    expect(textOf('guards/rules.yaml')).toBe(before);
  });
});
