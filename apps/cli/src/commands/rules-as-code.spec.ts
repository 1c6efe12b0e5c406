import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { refusal, runCli } from '../run-cli.testing.ts';

const ROOT = join(import.meta.dirname, '../../../..');
const RULES =
  `apiVersion: agentlens/v1
ruleset: payments
rules:
  - key: large
    name: Large payments
    conditionType: cost_limit
    actionType: notify_webhook
    actionConfig: { url: "https://a.example/in", headers: { authorization: "$` +
  `{env:TOKEN}" } }
`;
const PLAN = {
  ...{ ruleset: 'payments', basis: { large: 3 }, unlisted: [], problems: [] },
  changes: [
    {
      ...{ key: 'large', name: 'Large payments', ruleId: 'r-1', action: 'update', loosens: 'yes', drift: [] },
      changes: [
        { path: 'mode', from: 'enforce', to: 'shadow' },
        { path: 'actionConfig.headers.authorization', secret: true },
      ],
    },
  ],
};
const NOTHING = { ...PLAN, changes: [{ ...PLAN.changes[0], action: 'none', changes: [], loosens: undefined }] };

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rules-'));
  writeFileSync(join(folder, 'pay.yaml'), RULES);
});
afterEach(() => rmSync(folder, { recursive: true }));

const cli = (words: string, answer: (path: string) => unknown = () => PLAN, env = { TOKEN: 't-0123456789' }) =>
  runCli(words.split(' '), { folder, env, answer: ({ path }) => answer(path) });

describe('the example rules of this repository', () => {
  it('passes its tests', async () => {
    const { exitCode, stdout, requests } = await runCli(['rules', 'test', 'examples/rules'], { folder: ROOT });
    expect({ exitCode, requests, last: stdout.trimEnd().split('\n').at(-1) }).toEqual({
      ...{ exitCode: 0, requests: [] },
      last: expect.stringMatching(/^\d+ passed, 0 failed$/),
    });
  });
});

describe('rules test', () => {
  const test = (effect: string) =>
    writeFileSync(
      join(folder, 'pay.test.yaml'),
      `rules: pay.yaml\ntests:\n  - name: a call goes\n    calls:\n      - { tool: pay, expect: { effect: ${effect} } }\n`,
    );

  it.each<[string, string]>([
    ['text', 'pay.test.yaml:5: expected effect block, got allow'],
    ['tap', 'not ok 1 - a call goes'],
    ['junit', '<failure message="expected effect block, got allow (Allowed)">'],
    ['github', '::error file=pay.test.yaml,line=5,title=a call goes::expected effect block'],
  ])('exits with 1 and reports the failed expectation as %s', async (format, text) => {
    test('block');
    const { exitCode, stdout } = await cli(`rules test . --format ${format}`);
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: expect.stringContaining(text) });
  });

  it('needs no secret, key or platform', async () => {
    test('allow');
    expect(await cli('rules test .', undefined, { TOKEN: '' })).toMatchObject({ exitCode: 0, requests: [] });
  });

  it('reports file, line and path of an error', async () => {
    test('alow');
    const { exitCode, stderr } = await cli('rules test pay.test.yaml');
    expect(exitCode).toBe(1);
    expect(stderr).toContain('pay.test.yaml:5:');
    expect(stderr).toContain('tests.0.calls.0.expect.effect');
  });
});

describe('rules validate', () => {
  it('validates rule files without the platform', async () => {
    expect(await cli('rules validate pay.yaml')).toMatchObject({ exitCode: 0, requests: [] });
    writeFileSync(join(folder, 'pay.yaml'), RULES.replace('cost_limit', 'cost_limt'));
    const { exitCode, stderr } = await cli('rules validate .');
    expect(exitCode).toBe(1);
    expect(stderr).toContain('pay.yaml:6:5: rules.0.conditionType');
  });
});

describe('rules plan', () => {
  it('shows changes by field, marks those that loosen a rule, and hides values from the environment', async () => {
    const shown = structuredClone(PLAN);
    shown.changes[0]?.changes.push({
      path: 'actionConfig.url',
      from: 'https://old.example',
      to: 'https://t-0123456789',
    } as never);
    writeFileSync(join(folder, 'pay.yaml'), RULES.replace('"https://a.example/in"', '"https://$' + '{env:TOKEN}"'));
    const { exitCode, stdout, requests } = await cli('rules plan pay.yaml', () => shown);
    expect(exitCode).toBe(0);
    expect(stdout).toContain('~ large  Large payments  LOOSENS');
    expect(stdout).toContain('mode: "enforce" → "shadow"');
    expect(stdout).toContain('actionConfig.headers.authorization: changed');
    expect(stdout).not.toContain('0123456789');
    expect(requests).toMatchObject([
      {
        ...{ method: 'POST', path: '/api/rulesets/payments/plan' },
        body: { prune: false, rules: [{ key: 'large', actionConfig: { headers: { authorization: 't-0123456789' } } }] },
      },
    ]);
  });

  it('hides a name from the environment', async () => {
    const shown = structuredClone(PLAN);
    Object.assign(shown.changes[0] ?? {}, { name: 'Payments of t-0123456789' });
    writeFileSync(join(folder, 'pay.yaml'), RULES.replace('Large payments', 'Payments of $' + '{env:TOKEN}'));
    for (const line of ['rules plan pay.yaml', 'rules plan pay.yaml --json']) {
      const { stdout } = await cli(line, () => shown);
      expect(stdout).not.toContain('0123456789');
      expect(stdout).toContain('(name from the environment)');
    }
  });

  it('exits with 2 on request if there are changes', async () => {
    expect((await cli('rules plan . --detailed-exitcode')).exitCode).toBe(2);
    expect((await cli('rules plan . --detailed-exitcode', () => NOTHING)).exitCode).toBe(0);
  });

  it('sends no request if a variable is missing', async () => {
    const { exitCode, stderr, requests } = await runCli(['rules', 'plan', 'pay.yaml'], { folder });
    expect({ exitCode, requests }).toEqual({ exitCode: 1, requests: [] });
    expect(stderr).toContain('the environment variable TOKEN is not set');
  });

  it('reports what cannot be applied', async () => {
    const problems = [{ path: 'rules.0.key', message: '"large" belongs to the ruleset "other"' }];
    const { exitCode, stderr } = await cli('rules plan .', () => ({ ...PLAN, problems }));
    expect(exitCode).toBe(1);
    expect(stderr).toContain('belongs to the ruleset "other"');
  });
});

describe('rules apply', () => {
  it('applies the confirmed plan against the version it was made for', async () => {
    const { exitCode, stderr, requests } = await cli('rules apply . --yes --reason quiet');
    expect(exitCode).toBe(0);
    expect(stderr).toContain('~ large');
    expect(requests.map(({ path }) => path)).toEqual(['/api/rulesets/payments/plan', '/api/rulesets/payments/apply']);
    expect(requests[1]?.body).toMatchObject({ basis: { large: 3 }, reason: 'quiet' });
  });

  it('applies nothing without confirmation, and asks for none if nothing changes', async () => {
    const refused = await cli('rules apply . --no-input');
    expect(refused.exitCode).toBe(64);
    expect(refused.requests).toHaveLength(1);
    const same = await cli('rules apply . --no-input', () => NOTHING);
    expect(same.exitCode).toBe(0);
    expect(same.stdout).toContain('No changes');
  });

  it('refuses to overwrite changes by others, naming author and change, unless told to', async () => {
    const change = { path: 'priority', from: 0, to: 7 };
    const drift = [
      { version: 4, changedAt: '2026-03-01T12:00:00.000Z', changedBy: 'jo', reason: 'night', changes: [change] },
    ];
    const plan = { ...PLAN, changes: [{ ...PLAN.changes[0], drift }] };
    const refused = await cli('rules apply . --yes', () => plan);
    expect(refused.exitCode).toBe(5);
    expect(refused.stderr).toContain('large: version 4 by jo at 2026-03-01T12:00:00.000Z ("night"): priority: 0 → 7');
    expect(refused.requests).toHaveLength(1);
    expect((await cli('rules apply . --yes --overwrite', () => plan)).requests).toHaveLength(2);
    const kept = { ...NOTHING, changes: [{ ...NOTHING.changes[0], drift }] };
    expect((await cli('rules apply . --yes', () => kept)).requests).toHaveLength(2);
  });

  it('reports changes made by others since the plan', async () => {
    const details = [{ path: 'large', message: 'was changed by jo at 2026-03-01T12:00:00.000Z: priority 0 → 7' }];
    const { exitCode, stderr } = await cli('rules apply . --yes', (path) =>
      path.endsWith('/apply') ? refusal(409, { error: 'The plan is out of date', details, hint: 'Plan again' }) : PLAN,
    );
    expect(exitCode).toBe(5);
    expect(stderr).toContain('large: was changed by jo');
  });
});

describe('rules pull', () => {
  it('writes a rule file with a key and without defaults or secrets', async () => {
    const rule = {
      ...{ id: 'r-9', tenantId: 'acme', version: 4, name: 'Call me!', enabled: true, priority: 0, cooldownMinutes: 15 },
      ...{ conditionType: 'cost_limit', conditionConfig: { maxCostUsd: 5 }, actionType: 'notify_webhook' },
      actionConfig: { url: 'https://a.example', secret: '***cdef' },
    };
    const { stdout } = await cli('rules pull r-9', () => rule);
    expect(stdout).toBe(
      `apiVersion: agentlens/v1
ruleset: rules
rules:
  - key: call-me
    adopt: r-9
    name: Call me!
    conditionType: cost_limit
    conditionConfig:
      maxCostUsd: 5
    actionType: notify_webhook
    actionConfig:
      url: https://a.example
      secret: $` +
        `{env:CALL_ME_SECRET}
`,
    );
    writeFileSync(join(folder, 'pay.yaml'), stdout);
    expect((await cli('rules validate pay.yaml')).exitCode).toBe(0);
  });
});
