import { mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '@agentlens/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { AgentContext } from '../../core/agent-context.ts';
import { liveEffects } from '../../effects/effects.ts';
import { deniedHost, type Host } from '../../host/host.ts';
import { localHost } from '../../host/local-host.ts';
import { ToolRegistry } from '../tool-registry.ts';
import { bashTool } from './bash.ts';
import { editTool, readTool, writeTool } from './files.ts';
import { globTool, grepTool } from './search.ts';
import { todoTool } from './todo.ts';

const tools = new ToolRegistry([bashTool(), readTool(), writeTool(), editTool(), globTool(), grepTool(), todoTool()]);
let root: string;
let outside: string;
let host: Host;
let context: AgentContext;

const contextOf = (given: Host, signal = new AbortController().signal) =>
  new AgentContext({
    sessionId: 's',
    agentType: 'coder',
    currentToolUseId: 't',
    host: given,
    effects: liveEffects(),
    signal,
  });
const call = (name: string, input: object, given = context) => tools.execute(name, input, given);

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'agent-root-'));
  outside = await mkdtemp(join(tmpdir(), 'agent-outside-'));
  await mkdir(join(root, 'src'));
  await writeFile(join(root, 'src', 'a.ts'), 'one\ntwo\nthree\n');
  await writeFile(join(outside, 'secret.txt'), 'secret');
  host = localHost({ root, files: 'write', shell: true });
  context = contextOf(host);
});
afterEach(async () => {
  await rm(root, { recursive: true, force: true });
  await rm(outside, { recursive: true, force: true });
});

describe('files', () => {
  it('are read by lines, and found by name and by content', async () => {
    expect(await call('read', { path: 'src/a.ts', offset: 2, limit: 1 })).toMatchObject({
      output: '2\ttwo\n[2 more lines]',
      isError: false,
    });
    expect(await call('glob', { pattern: '**/*.ts' })).toMatchObject({ output: 'src/a.ts' });
    expect(await call('grep', { pattern: 't[wh]' })).toMatchObject({ output: 'src/a.ts:2:two\nsrc/a.ts:3:three' });
    expect(await call('grep', { pattern: '(' })).toMatchObject({ code: 'invalid_input' });
    expect(await call('read', { path: 'none' })).toMatchObject({ code: 'tool_failed' });
  });

  it('are changed only after they were read, and only if unchanged since', async () => {
    const edit = { path: 'src/a.ts', oldText: 'two', newText: 'zwei' };
    expect(await call('edit', edit)).toMatchObject({ isError: true, code: 'conflict' });
    expect(await call('write', { path: 'src/a.ts', content: 'x' })).toMatchObject({ code: 'conflict' });
    await call('read', { path: 'src/a.ts' });
    await writeFile(join(root, 'src', 'a.ts'), 'one\ntwo\nfour\n');
    expect(await call('edit', edit)).toMatchObject({ code: 'conflict' });
    await call('read', { path: './src/../src/a.ts' });
    expect((await call('edit', edit)).output).toContain('+zwei');
    expect(await call('edit', { ...edit, oldText: 'o' })).toMatchObject({ isError: true });
    expect(await call('edit', { path: 'src/a.ts', oldText: 'o', newText: '0', replaceAll: true })).toMatchObject({
      isError: false,
    });
    expect(await readFile(join(root, 'src', 'a.ts'), 'utf8')).toBe('0ne\nzwei\nf0ur\n');
    expect(await call('write', { path: 'new/b.txt', content: 'b' })).toMatchObject({ isError: false });
    expect(await readFile(join(root, 'new', 'b.txt'), 'utf8')).toBe('b');
  });

  it('stay inside the folder for any path or link', async () => {
    await symlink(outside, join(root, 'link'));
    await symlink(join(outside, 'nothing'), join(root, 'dangling'));
    await symlink(join(outside, 'secret.txt'), join(root, 'file-link'));
    for (const path of [
      '../x',
      '/etc/passwd',
      join(outside, 'secret.txt'),
      'link/secret.txt',
      'link/new.txt',
      'dangling',
      'file-link',
      'a\0b',
    ]) {
      expect({ path, ...(await call('read', { path })) }).toMatchObject({ path, code: 'denied_by_host' });
      expect({ path, ...(await call('write', { path, content: 'x' })) }).toMatchObject({
        path,
        code: 'denied_by_host',
      });
    }
    expect(await readFile(join(outside, 'secret.txt'), 'utf8')).toBe('secret');
    expect(await call('glob', { pattern: '../*' })).toMatchObject({ code: 'denied_by_host' });
    expect(await call('read', { path: join(root, 'src', 'a.ts') })).toMatchObject({ isError: false });
  });

  it('that contain keys or belong to git are protected', async () => {
    await mkdir(join(root, '.git'));
    for (const path of ['.env', '.env.local', '.git/config', 'deploy/server.pem', 'id_rsa', '.ENV']) {
      expect({ path, ...(await call('write', { path, content: 'x' })) }).toMatchObject({
        path,
        code: 'denied_by_host',
      });
    }
    const open = contextOf(localHost({ root, files: 'write', unprotect: ['.env'] }));
    expect(await call('write', { path: '.env', content: 'x' }, open)).toMatchObject({ isError: false });
  });

  it('keep their mode when replaced, and reject writes when read-only', async () => {
    await writeFile(join(root, 'run.sh'), 'a', { mode: 0o755 });
    await call('read', { path: 'run.sh' });
    await call('write', { path: 'run.sh', content: 'b' });
    expect((await stat(join(root, 'run.sh'))).mode & 0o777).toBe(0o755);
    const readOnly = contextOf(localHost({ root, files: 'read' }));
    expect(await call('write', { path: 'c', content: 'c' }, readOnly)).toMatchObject({ code: 'denied_by_host' });
  });
});

describe('a list of files', () => {
  it('shows no name from behind a link that leads outside', async () => {
    await symlink(outside, join(root, 'link'));
    await symlink(join(root, 'src'), join(root, 'own'));
    for (const pattern of ['link/*', 'link/**', '**/*.txt', 'lin[k]/*'])
      expect((await call('glob', { pattern })).output).not.toContain('secret');
    expect(await call('glob', { pattern: 'own/*' })).toMatchObject({ output: 'own/a.ts' });
  });
});

describe('the shell', () => {
  it("returns output and exit code, and sees nothing of the agent's environment", async () => {
    process.env.AGENT_TEST_SECRET = 'hidden';
    process.env.AGENTLENS_API_KEY = 'hidden';
    const command = 'echo out; echo err >&2; echo "[$AGENT_TEST_SECRET$AGENTLENS_API_KEY]"; pwd';
    expect(await call('bash', { command })).toMatchObject({
      isError: false,
      output: expect.stringMatching(/out[\s\S]*\[\]/),
    });
    expect(await call('bash', { command: 'exit 3' })).toMatchObject({
      isError: true,
      output: { info: { exitCode: 3 } },
    });
    delete process.env.AGENT_TEST_SECRET;
    delete process.env.AGENTLENS_API_KEY;
  });

  it('ends all its processes when it times out or is stopped', async () => {
    expect(await call('bash', { command: 'echo begun; sleep 60 & sleep 60', timeoutMs: 100 })).toMatchObject({
      code: 'tool_timeout',
      output: { error: expect.stringContaining('begun') },
    });
    const controller = new AbortController();
    let said = '';
    const progress = (_id: string, text: string) => {
      said += text;
      if (said.endsWith('\n')) controller.abort();
    };
    const { signal } = controller;
    const stoppable = new AgentContext({
      sessionId: 's',
      agentType: 'c',
      currentToolUseId: 't',
      host,
      effects: liveEffects(),
      signal,
      progress,
    });
    const stopped = await call('bash', { command: '(echo $BASHPID; exec sleep 600) & wait' }, stoppable);
    expect(stopped).toMatchObject({ isError: true, code: 'aborted' });
    const inBackground = Number(said.trim());
    expect(inBackground).toBeGreaterThan(1);
    await eventually(() => expect(() => process.kill(inBackground, 0)).toThrow());
  });

  it('leaves nothing in the background and truncates long output', async () => {
    expect(await call('bash', { command: 'sleep 60 & echo ok' })).toMatchObject({ output: 'ok\n', isError: false });
    const { output } = await call('bash', { command: 'head -c 100000 /dev/zero | tr "\\0" x' });
    expect(output).toMatch(/\[output cut\]$/);
    expect(JSON.stringify(output).length).toBeLessThan(31_000);
  });

  it('rejects a variable that changes what it runs', () => {
    for (const name of ['BASH_ENV', 'LD_PRELOAD', 'BASH_FUNC_ls%%'])
      expect(() => localHost({ root, shell: { environment: { [name]: 'x' } } })).toThrow(
        expect.objectContaining({ code: 'invalid_config' }),
      );
  });
});

describe('a host that opens nothing', () => {
  it('denies files, shell and network, but still keeps a todo list', async () => {
    const closed = contextOf(deniedHost);
    for (const [name, input] of [
      ['read', { path: 'a' }],
      ['write', { path: 'a', content: '' }],
      ['glob', { pattern: '*' }],
      ['grep', { pattern: 'a' }],
      ['bash', { command: 'ls' }],
    ] as const)
      expect({ name, ...(await call(name, input, closed)) }).toMatchObject({ name, code: 'denied_by_host' });
    expect((await call('todo', { items: [{ text: 'a', status: 'doing' }] }, closed)).output).toBe('[>] a');
    expect(closed.getMetadata('todo')).toEqual([{ text: 'a', status: 'doing' }]);
  });
});
