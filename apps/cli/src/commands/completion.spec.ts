import { describe, expect, it } from '@jest/globals';
import { runCli } from '../run-cli.testing.ts';

const complete = async (...words: string[]) =>
  (await runCli(['complete', '--', ...words])).stdout.split('\n').filter((line) => line !== '');

describe('completion', () => {
  it('offers the commands that begin as typed', async () => {
    expect(await complete('ru')).toEqual(['rules', 'runs']);
    expect(await complete('')).toEqual(expect.arrayContaining(['doctor', 'tail']));
    expect(await complete('')).not.toContain('complete');
  });

  it('offers the commands of a group, also behind options and by its other name', async () => {
    expect(await complete('--json', 'approvals', 'a')).toEqual(['approve']);
    expect(await complete('guardrails', 'hi')).toEqual(['history']);
  });

  it('offers the options of a command and those of every command', async () => {
    expect(await complete('runs', 'list', '--m')).toEqual(['--min-cost', '--model']);
    expect(await complete('runs', 'list', '--js')).toEqual(['--json']);
  });

  it('offers nothing where an argument stands: it is not known', async () => {
    expect(await complete('runs', 'show', '')).toEqual([]);
  });

  it.each(['bash', 'zsh', 'fish'])('prints a script for %s that asks the command itself', async (shell) => {
    const { exitCode, stdout } = await runCli(['completion', shell]);
    expect(exitCode).toBe(0);
    expect(stdout).toContain('agentlens complete --');
  });
});
