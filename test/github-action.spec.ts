import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';

const action = parse(readFileSync(join(import.meta.dirname, '../integrations/github-action/action.yml'), 'utf8')) as {
  readonly runs: { readonly steps: readonly { readonly name: string; readonly run: string }[] };
};

/** The step as GitHub runs it, with a CLI that records its call and exits with `code`. */
describe('the test step of the GitHub Action', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'agentlens-action-'));
    mkdirSync(join(folder, 'bin'));
    mkdirSync(join(folder, 'rules/payments'), { recursive: true });
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const run = (code: number) => {
    const npx = join(folder, 'bin/npx');
    writeFileSync(npx, `#!/bin/sh\necho "$@" >> ${join(folder, 'called')}\nexit ${code}\n`);
    chmodSync(npx, 0o755);
    const script = join(folder, 'step.sh');
    writeFileSync(script, action.runs.steps.find(({ name }) => name === 'Test')?.run ?? 'exit 99');
    const env = { ...process.env, PATH: `${join(folder, 'bin')}:${process.env.PATH}`, PATHS: 'rules', CLI: 'cli' };
    const { status, stdout } = spawnSync('bash', ['--noprofile', '--norc', '-eo', 'pipefail', script], {
      cwd: folder,
      env,
      encoding: 'utf8',
    });
    return { status, stdout, called: existsSync(join(folder, 'called')) };
  };
  const write = (name: string) => writeFileSync(join(folder, 'rules/payments', name), 'tests: []\n');

  it.each(['one.test.yaml', 'one.test.yml'])('runs the tests of %s and fails with them', (name) => {
    write(name);
    expect(run(1)).toMatchObject({ status: 1, called: true });
    expect(run(0)).toMatchObject({ status: 0 });
  });

  it('runs any number of test files', () => {
    for (let n = 0; n < 2_000; n++) write(`a-rather-long-name-of-a-rule-${n}.test.yaml`);
    expect(run(1)).toMatchObject({ status: 1, called: true });
  });

  it('says that no test ran', () => {
    write('rules.yaml');
    const { status, stdout, called } = run(1);
    expect({ status, called }).toEqual({ status: 0, called: false });
    expect(stdout).toContain('::warning');
  });

  it('fails if the folder does not exist', () => {
    rmSync(join(folder, 'rules'), { recursive: true });
    expect(run(0).status).not.toBe(0);
  });

  it('has steps that bash can read', () => {
    for (const { name, run: script } of action.runs.steps) {
      expect(() => execFileSync('bash', ['-n', '-c', script])).not.toThrow();
      expect(name).not.toBe('');
    }
  });
});
