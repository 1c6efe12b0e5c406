import { execFile, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';

const run = promisify(execFile);
const FLAGS = ['--conditions=@agentlens/source', '--disable-warning=ExperimentalWarning'];
const pathOf = (name: string) => join(import.meta.dirname, '..', 'examples', name);

/** Runs the example as a user does, but from the sources. */
async function example(name: string): Promise<string> {
  const { stdout } = await run(process.execPath, [...FLAGS, pathOf(name)], { env: { PATH: '' } });
  return stdout;
}

/** With typed lines. */
function typed(name: string, args: readonly string[], lines: string, cwd: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...FLAGS, pathOf(name), ...args], {
      cwd,
      env: { PATH: process.env.PATH, TMPDIR: cwd },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    let output = '';
    child.stdout.on('data', (bytes: Buffer) => {
      output += bytes.toString();
    });
    child.once('error', reject);
    child.once('close', () => resolve(output));
    child.stdin.end(lines);
  });
}

describe('the examples', () => {
  it('use HTTP and a map in one run without revealing the key', async () => {
    const output = await example('two-tools.mjs');
    expect(output).toContain('"changes":["the v1 API is removed"]');
    expect(output).toContain('[secret NOTES_KEY]');
    expect(output).not.toContain('only the host knows this');
    expect(output).toContain('the host example.com is not on this agent');
    expect(output).toContain('Version 2.0 removes the v1 API.');
  });

  it('delegate to sub-agents and count their tokens', async () => {
    const output = await example('sub-agents.mjs');
    expect(output).toContain('At 100 °C water turns to steam.');
    expect(output).toContain('tokens 360, of which sub-agents 120');
    expect(output).toContain('the watcher says: Nothing happened.');
  });

  it('replay a run without rolling the dice again, and name the first difference of another run', async () => {
    const output = await example('replay.mjs');
    expect(output).toContain('equal: true, throws: 2');
    expect(output).toContain('first at $.messages[0].content[0].text');
  });

  it('write code in a terminal, asking first', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'agent-coder-'));
    const output = await typed('coder-console.mjs', ['--scripted'], 'fix the spelling\nmaybe\ny\n', folder);
    expect(output).toContain('? edit: Edit hello.js');
    expect(output).toContain("+console.log('hello');");
    expect(output).toContain('Refused: rule "deny command sudo, git push"');
    expect(output).toContain('Fixed the spelling in hello.js.');
    const [, root = ''] = /in (\/\S+)/.exec(output) ?? [];
    expect(await readFile(join(root, 'hello.js'), 'utf8')).toBe("console.log('hello');\n");
    const refused = await typed('coder-console.mjs', ['--scripted'], 'fix the spelling\nn\n', folder);
    expect(refused).toContain('A human said no');
    await rm(folder, { recursive: true });
  });
});
