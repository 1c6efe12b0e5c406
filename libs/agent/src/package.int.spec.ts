import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../../..');
const published = join(root, 'libs/agent/dist/npm');

interface Published {
  readonly exports: Readonly<Record<string, { readonly types: string; readonly default: string }>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta: Readonly<Record<string, { readonly optional: boolean }>>;
  readonly engines: { readonly node: string };
}

/** A folder as a user has it: outside this workspace, without any optional peer dependency. */
let home: string;
let manifest: Published;

async function packed(lib: string): Promise<string> {
  const { stdout } = await run(process.execPath, [join(root, 'libs', lib, 'build/package.mjs'), home]);
  return stdout.trim();
}

/** No network: dependencies are copied from this workspace. */
function folderOf(name: string): string {
  const own = join(root, 'libs/agent/node_modules', name);
  return existsSync(own) ? own : join(root, 'node_modules', name);
}

/** The packages with their transitive dependencies, also without the registry. */
async function withTheirs(names: readonly string[], known = new Set<string>()): Promise<readonly string[]> {
  for (const name of names) {
    if (known.has(name)) continue;
    known.add(name);
    const { dependencies = {} } = JSON.parse(await readFile(join(folderOf(name), 'package.json'), 'utf8')) as {
      readonly dependencies?: Readonly<Record<string, string>>;
    };
    await withTheirs(Object.keys(dependencies), known);
  }
  return [...known];
}

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'agentlens-agent-package-'));
  const [sdk, agent] = [await packed('sdk'), await packed('agent')];
  manifest = JSON.parse(await readFile(join(published, 'package.json'), 'utf8')) as Published;
  const { dependencies: ofSdk } = JSON.parse(
    await readFile(join(root, 'libs/sdk/dist/npm/package.json'), 'utf8'),
  ) as Published;
  const names = [...Object.keys(manifest.dependencies), ...Object.keys(ofSdk)].filter(
    (name) => name !== '@agentlens/sdk',
  );
  const copies = Object.fromEntries((await withTheirs(names)).map((name) => [name, `file:${folderOf(name)}`]));
  const wanted = {
    ...copies,
    '@agentlens/sdk': `file:${sdk}`,
    '@agentlens/agent': `file:${agent}`,
  };
  await writeFile(
    join(home, 'package.json'),
    JSON.stringify({
      private: true,
      type: 'module',
      dependencies: wanted,
      overrides: { ...copies, '@agentlens/sdk': `file:${sdk}` },
    }),
  );
  const flags = [
    '--offline',
    '--install-links',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--no-package-lock',
    '--legacy-peer-deps',
  ];
  await run('npm', ['install', ...flags], { cwd: home });
});
afterAll(() => rm(home, { recursive: true, force: true }));

async function ran(name: string, code: string): Promise<string> {
  await writeFile(join(home, name), code);
  const { stdout } = await run(process.execPath, [name], { cwd: home, env: { PATH: process.env.PATH } });
  return stdout;
}

const QUICK_START = `
  import { Agent, PermissionRule, tool } from '@agentlens/agent';
  import { ScriptedModel } from '@agentlens/agent/testing';
  const add = tool<{ a: number; b: number }>({
    name: 'add', description: 'Adds two numbers.',
    input: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
    execute: ({ a, b }) => a + b,
  });
  const agent = new Agent({
    id: 'adder', taskPrompt: 'What is 2 + 3?', tools: [add], permissions: [PermissionRule.allowTool('add')],
    modelProviders: [new ScriptedModel([{ toolCalls: [{ name: 'add', input: { a: 2, b: 3 } }] }, { text: 'It is 5.' }])],
  });
  const { result, actions } = await agent.run();
  console.log(JSON.stringify([result, actions.map(({ output }) => output)]));
`;

describe('the package of the agent runtime', () => {
  it('contains every file named in its manifest, and nothing of the workspace', async () => {
    for (const target of Object.values(manifest.exports))
      for (const file of [target.types, target.default])
        expect({ file, there: existsSync(join(published, file)) }).toEqual({ file, there: true });
    expect(Object.keys(manifest.dependencies).filter((name) => name.startsWith('@agentlens/'))).toEqual([
      '@agentlens/sdk',
    ]);
    expect(Object.keys(manifest.peerDependenciesMeta).sort()).toEqual(Object.keys(manifest.peerDependencies).sort());
    const files = await readdir(published, { recursive: true });
    expect(files.filter((file) => /\.(spec|testing|contract)\./.test(file))).toEqual([]);
    expect(files).toEqual(expect.arrayContaining(['README.md', 'LICENSE']));
    expect(manifest.engines.node).toBe('>=22.13');
  });

  it('runs its quick start', async () => {
    expect(JSON.parse(await ran('quick-start.mjs', QUICK_START.replace('<{ a: number; b: number }>', '')))).toEqual([
      'It is 5.',
      [5],
    ]);
  });

  it('offers every entry that needs no optional package, and names the missing package of the others', async () => {
    const names = Object.keys(manifest.exports).map((path) => `@agentlens/agent${path.slice(1)}`);
    const code = `
      const answers = {};
      for (const name of ${JSON.stringify(names)})
        answers[name] = await import(name).then(() => 'ok', (error) => /package '([^']+)'/.exec(error.message)?.[1] ?? error.message);
      console.log(JSON.stringify(answers));
    `;
    const answers = JSON.parse(await ran('entries.mjs', code)) as Record<string, string>;
    expect(Object.entries(answers).filter(([, answer]) => answer !== 'ok')).toEqual([
      ['@agentlens/agent/redis', 'ioredis'],
      ['@agentlens/agent/postgres', 'pg'],
      ['@agentlens/agent/prompts/liquid', 'liquidjs'],
      ['@agentlens/agent/prompts/handlebars', 'handlebars'],
      ['@agentlens/agent/prompts/mustache', 'mustache'],
    ]);
  });

  it("reaches the host's network with its own dependencies", async () => {
    const code = `
      import { createServer } from 'node:http';
      import { localHost } from '@agentlens/agent/host';
      const server = createServer((_request, response) => response.end('hello'));
      await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
      const host = localHost({ root: '.', network: { allow: ['127.0.0.1'], networks: ['127.0.0.1/32'] } });
      console.log((await host.http.send({ method: 'GET', url: 'http://127.0.0.1:' + server.address().port })).body);
      await host.close();
      server.close();
    `;
    expect(await ran('network.mjs', code)).toBe('hello\n');
  });

  it('has complete types', async () => {
    await writeFile(join(home, 'typed.ts'), QUICK_START);
    const compilerOptions = {
      module: 'nodenext',
      target: 'es2022',
      lib: ['es2024', 'esnext.disposable'],
      strict: true,
      noEmit: true,
      types: ['node'],
      typeRoots: [join(root, 'node_modules/@types')],
    };
    await writeFile(join(home, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['typed.ts'] }));
    const compiler = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc');
    const { stdout } = await run(process.execPath, [compiler, '-p', home]).catch((error: { stdout: string }) => error);
    expect(stdout).toBe('');
  });

  it('is small, and its main entry loads no backend, engine, model client or console', async () => {
    const seen = new Set<string>();
    const waiting = [join(published, 'dist/index.js')];
    for (const file of waiting) {
      if (seen.has(file)) continue;
      seen.add(file);
      const text = await readFile(file, 'utf8');
      for (const [, path = ''] of text.matchAll(/^(?:import|export)[^;]*?["'](\.[^"']+)["'];/gm))
        waiting.push(join(dirname(file), path));
    }
    const code = (await Promise.all([...seen].map((file) => readFile(file, 'utf8')))).join('\n');
    for (const name of [
      'liquidjs',
      'handlebars',
      'mustache',
      'ioredis',
      'node:sqlite',
      'node:readline',
      'api.anthropic.com',
      'node:child_process',
    ])
      expect({ name, loaded: code.includes(name) }).toEqual({ name, loaded: false });
    // Measured when it was set: 66 kB, not minified, of which the shell reader and its program table are 7. Exceeding a budget is a reason to look, not a hard limit.
    expect(gzipSync(code).length).toBeLessThan(70_000);
  });
});
