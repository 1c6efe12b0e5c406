import { describe, expect, it } from '@jest/globals';
import { runCli } from '../run-cli.testing.ts';

const complete = async (...words: string[]) =>
  (await runCli(['complete', '--', ...words])).stdout.split('\n').filter((line) => line !== '');

describe('completion', () => {
  it('suggests the commands that start with the typed text', async () => {
    expect(await complete('ru')).toEqual(['rules', 'runs']);
    expect(await complete('')).toEqual(expect.arrayContaining(['doctor', 'tail']));
    expect(await complete('')).not.toContain('complete');
  });

  it('suggests the commands of a group, after options and under its alias', async () => {
    expect(await complete('--json', 'approvals', 'a')).toEqual(['approve']);
    expect(await complete('guardrails', 'hi')).toEqual(['history']);
  });

  it('suggests the options of a command and the global options', async () => {
    expect(await complete('runs', 'list', '--m')).toEqual(['--min-cost', '--model']);
    expect(await complete('runs', 'list', '--js')).toEqual(['--json']);
  });

  it('suggests nothing for an argument', async () => {
    expect(await complete('runs', 'show', '')).toEqual([]);
  });

  it.each(['bash', 'zsh', 'fish'])('prints a %s script that calls the CLI for suggestions', async (shell) => {
    const { exitCode, stdout } = await runCli(['completion', shell]);
    expect(exitCode).toBe(0);
    expect(stdout).toContain('agentlens complete --');
  });
});
