import { execFile, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';

const run = promisify(execFile);
const FLAGS = ['--conditions=@agentlens/source', '--disable-warning=ExperimentalWarning'];
const pathOf = (name: string) => join(import.meta.dirname, '..', 'examples', name);

/** As a user runs it, from the sources instead of a build. */
async function example(name: string): Promise<string> {
  const { stdout } = await run(process.execPath, [...FLAGS, pathOf(name)], { env: { PATH: '' } });
  return stdout;
}

/** With lines that somebody types. */
function typed(name: string, args: readonly string[], lines: string, cwd: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...FLAGS, pathOf(name), ...args], {
      cwd,
      env: { PATH: process.env.PATH, TMPDIR: cwd },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    let said = '';
    child.stdout.on('data', (bytes: Buffer) => {
      said += bytes.toString();
    });
    child.once('error', reject);
    child.once('close', () => resolve(said));
    child.stdin.end(lines);
  });
}

describe('the examples', () => {
  it('use HTTP and a map in one run, with a key that nobody sees', async () => {
    const said = await example('two-tools.mjs');
    expect(said).toContain('"changes":["the v1 API is removed"]');
    expect(said).toContain('[secret NOTES_KEY]');
    expect(said).not.toContain('only the host knows this');
    expect(said).toContain('the host example.com is not on this agent');
    expect(said).toContain('Version 2.0 removes the v1 API.');
  });

  it('hand work to sub-agents and count their tokens', async () => {
    const said = await example('sub-agents.mjs');
    expect(said).toContain('At 100 °C water turns to steam.');
    expect(said).toContain('tokens 360, of which sub-agents 120');
    expect(said).toContain('the watcher says: Nothing happened.');
  });

  it('replay a run without throwing the dice again, and name the first difference of another', async () => {
    const said = await example('replay.mjs');
    expect(said).toContain('equal: true, throws: 2');
    expect(said).toContain('first at $.messages[0].content[0].text');
  });

  it('write code at a terminal, asking first', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'agent-coder-'));
    const said = await typed('coder-console.mjs', ['--scripted'], 'fix the spelling\nmaybe\ny\n', folder);
    expect(said).toContain('? edit: Edit hello.js');
    expect(said).toContain("+console.log('hello');");
    expect(said).toContain('Refused: rule "deny command sudo, git push"');
    expect(said).toContain('Fixed the spelling in hello.js.');
    const [, root = ''] = /in (\/\S+)/.exec(said) ?? [];
    expect(await readFile(join(root, 'hello.js'), 'utf8')).toBe("console.log('hello');\n");
    const refused = await typed('coder-console.mjs', ['--scripted'], 'fix the spelling\nn\n', folder);
    expect(refused).toContain('A human said no');
    await rm(folder, { recursive: true });
  });
});
