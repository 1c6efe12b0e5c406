import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startEmbedded } from './support/embedded.ts';
import type { PlatformUnderTest } from './support/platform-under-test.ts';
import { Program, root } from './support/program.ts';

describe('rules in files', () => {
  let platform: PlatformUnderTest;
  let folder: string;
  let file: string;

  beforeAll(async () => {
    expect(await Program.run('scripts/build.mjs').ended()).toBe(0);
    platform = await startEmbedded();
    folder = await mkdtemp(join(tmpdir(), 'agentlens-rules-'));
    file = join(folder, 'payments.yaml');
    await cp(join(root, 'examples/rules/payments.yaml'), file);
  });
  afterAll(async () => {
    await platform.stop();
    await rm(folder, { recursive: true, force: true });
  });

  async function agentlens(...words: string[]) {
    const env = { AGENTLENS_URL: platform.addressFor('GET', '/api/rulesets'), AGENTLENS_API_KEY: platform.adminKey };
    const program = Program.run('apps/cli/bin/agentlens.js', env, ['rules', ...words]);
    return { exitCode: await program.ended(), printed: program.printed };
  }

  async function request(method: string, path: string, { body, ...headers }: Record<string, string> = {}) {
    const answer = await fetch(platform.addressFor(method, path) + path, {
      method,
      headers: { authorization: `Bearer ${platform.adminKey}`, 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body }),
    });
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
  }

  /** The body that apply sends after its plan, from a plan made earlier. */
  async function planned() {
    const { stdout } = await jsonOf('plan', file);
    return stdout;
  }

  async function jsonOf(...words: string[]) {
    const { exitCode, printed } = await agentlens(...words, '--json');
    expect(exitCode).toBe(0);
    return { stdout: JSON.parse(printed) as { basis: object; changes: { ruleId: string; key: string }[] } };
  }

  it('are planned, applied, found unchanged, and rejected after another change, with author, content and reason', async () => {
    const first = await agentlens('plan', file);
    expect(first.printed).toContain('+ large-payments');
    expect(await agentlens('apply', file, '--yes', '--reason', 'first')).toMatchObject({ exitCode: 0 });
    const again = await agentlens('plan', file, '--detailed-exitcode');
    expect(again).toEqual({ exitCode: 0, printed: expect.stringContaining('No changes') });

    await writeFile(file, (await readFile(file, 'utf8')).replace('value: 1000', 'value: 5000'));
    const change = await agentlens('plan', file, '--detailed-exitcode');
    expect(change.exitCode).toBe(2);
    expect(change.printed).toContain('conditionConfig.value: 1000 → 5000');
    const { basis, changes } = await planned();

    const ruleId = changes.find(({ key }) => key === 'large-payments')?.ruleId ?? '';
    const elsewhere = {
      body: JSON.stringify({ conditionConfig: { path: 'amount', type: 'number', operator: 'gt', value: 200 } }),
    };
    const path = `/api/guardrails/${ruleId}`;
    expect(await request('PUT', path, elsewhere)).toMatchObject({
      status: 409,
      body: { error: expect.stringContaining('belongs to the ruleset "payments"') },
    });
    const override = { 'x-agentlens-override': 'fraud last night', 'x-agentlens-actor': 'jo' };
    expect(await request('PUT', path, { ...elsewhere, ...override })).toMatchObject({ status: 200 });

    const rules = [
      {
        key: 'large-payments',
        name: 'Other',
        conditionType: 'tool_name',
        conditionConfig: { value: 'x' },
        actionType: 'block',
      },
    ];
    const body = JSON.stringify({ rules, basis });
    const refused = await request('POST', '/api/rulesets/payments/apply', { body });
    expect(refused).toMatchObject({ status: 409, body: { error: expect.stringContaining('out of date') } });
    const [detail] = refused.body.details as { path: string; message: string }[];
    expect(detail?.path).toBe('large-payments');
    expect(detail?.message).toMatch(/jo.*conditionConfig\.value 1000 → 200 \("fraud last night"\)/);

    const drift = await agentlens('plan', file);
    expect(drift.printed).toContain('fraud last night');
    expect(drift.printed).toContain('conditionConfig.value: 200 → 5000');
    const apply = await agentlens('apply', file, '--yes');
    expect(apply.exitCode).toBe(5);
    expect(apply.printed).toMatch(/large-payments: .*jo.*"fraud last night".*conditionConfig\.value: 1000 → 200/);
    expect(await agentlens('apply', file, '--yes', '--overwrite')).toMatchObject({ exitCode: 0 });
    const versions = await agentlens('versions', ruleId);
    expect(versions.printed).toContain('fraud last night');
  });

  it('can be exported as a file that plans no change', async () => {
    const { printed } = await agentlens('pull', '--ruleset', 'payments');
    await writeFile(file, printed);
    expect(await agentlens('plan', file, '--prune')).toMatchObject({ printed: expect.stringContaining('No changes') });
  });
});
