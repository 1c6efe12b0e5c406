import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from './support/client.ts';
import { startEmbedded } from './support/embedded.ts';
import type { PlatformUnderTest } from './support/platform-under-test.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../../..');
const resolved = createRequire(import.meta.url).resolve;

/** A folder outside of this workspace, with the `node` on the path, as another user would have it. */
let home: string;

async function installed(): Promise<void> {
  const { stdout } = await run(process.execPath, [join(root, 'libs/sdk/build/package.mjs'), home]);
  const { dependencies } = JSON.parse(await readFile(join(root, 'libs/sdk/dist/npm/package.json'), 'utf8'));
  // No network: dependencies are copied from this workspace.
  const others = Object.keys(dependencies).map((name) => [name, `file:${join(root, 'node_modules', name)}`] as const);
  const wanted = Object.fromEntries([...others, ['@agentlens/sdk', `file:${stdout.trim()}`]]);
  await writeFile(join(home, 'package.json'), JSON.stringify({ private: true, type: 'module', dependencies: wanted }));
  const flags = ['--offline', '--install-links', '--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock'];
  await run('npm', ['install', ...flags], { cwd: home });
}

/** Runs a program in that folder. */
async function ran(name: string, code: string, env: Record<string, string> = {}): Promise<string> {
  await writeFile(join(home, name), code);
  const { stdout } = await run('node', [name], { cwd: home, env: { PATH: process.env.PATH, ...env } });
  return stdout;
}

describe('the package of the SDK', () => {
  let platform: PlatformUnderTest;

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'agentlens-package-'));
    [platform] = await Promise.all([startEmbedded(), installed()]);
  });

  afterAll(async () => {
    await platform?.stop();
    await rm(home, { recursive: true, force: true });
  });

  it('runs the quick start against a running platform, with plain node', async () => {
    const people = new Client(platform, (await platform.keyOf('package', 'admin')).key);
    const { key } = await platform.keyOf('package', 'ingest', 'decide');
    const quickStart = `
      import { AgentLens, defineTool, withRun, wrapTool } from '@agentlens/sdk';
      const { KEY: apiKey, URL: baseUrl } = process.env;
      const paid = [];
      const client = await AgentLens.init({ apiKey, baseUrl, agent: { slug: 'support-bot' }, deadlineMs: 10_000 });
      const refund = wrapTool(defineTool({ name: 'refund', tags: ['money'], execute: ({ eur }) => paid.push(eur) }));
      const run = await client.startRun({ runId: 'packaged', actor: { externalId: 'customer-7' } });
      await withRun(run, async () => {
        const messages = await run.beforeLlm([{ role: 'user', content: 'give it back' }]);
        await run.afterLlm({ content: [{ type: 'text', text: String(messages.length) }], model: { name: 'gpt-4o' } });
        await refund({ eur: 20 });
      });
      await run.end();
      console.log(JSON.stringify({ paid, events: client.status.events }));
    `;
    const printed = await ran('quick-start.mjs', quickStart, { KEY: key, URL: platform.edges[0] ?? '' });
    expect(JSON.parse(printed)).toMatchObject({ paid: [20], events: { dropped: 0, waiting: 0 } });
    expect((await people.get('/api/agents/support-bot')).status).toBe(200);
  });

  it('exports its parts: rules evaluated in the agent, and the server double', async () => {
    const parts = `
      import { catalogRules } from '@agentlens/sdk/rules';
      import { block, TestPlatform } from '@agentlens/sdk/testing';
      const server = new TestPlatform();
      server.rule({ tools: ['rm'], answer: block('no') });
      const run = await (await server.client({ rules: catalogRules })).startRun();
      console.log((await run.beforeTool('rm', {})).verdict, (await run.beforeTool('ls', {})).verdict);
    `;
    expect((await ran('parts.mjs', parts)).trim()).toBe('BLOCK ALLOW');
  });

  it('has complete types without the workspace, even with library checks', async () => {
    const program = `
      import { AgentLens, defineTool, type Decision, isBlockedResult, type Run, wrapTool } from '@agentlens/sdk';
      import { catalogRules } from '@agentlens/sdk/rules';
      import { TestPlatform } from '@agentlens/sdk/testing';
      const client = await AgentLens.init({ apiKey: 'k', baseUrl: 'u', agent: { slug: 's' }, rules: catalogRules });
      const run: Run = await client.startRun();
      const decision: Decision = await run.beforeTool('t', {});
      const tool = wrapTool(defineTool({ name: 't', execute: ({ n }: { n: number }) => n + 1 }), { run });
      const result = await tool({ n: 1 });
      export const next: number = isBlockedResult(result) ? 0 : result;
      export const state: 'closed' | 'open' | 'half_open' = run.breakerState.kind;
      export const server = new TestPlatform();
      // @ts-expect-error the tool takes a number
      await tool({ n: decision.verdict });
    `;
    await writeFile(join(home, 'program.ts'), program);
    const compilerOptions = {
      ...{ module: 'nodenext', target: 'es2022', lib: ['es2024', 'esnext.disposable', 'dom'], types: [] },
      ...{ strict: true, noEmit: true, skipLibCheck: false },
    };
    await writeFile(join(home, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['program.ts'] }));
    const compiler = join(dirname(resolved('typescript/package.json')), 'bin/tsc');
    const { stdout } = await run(process.execPath, [compiler, '-p', '.'], { cwd: home }).catch((error) => error);
    expect(stdout).toBe('');
  });

  it('contains nothing of Node on an edge, and nothing of the platform that it does not use', async () => {
    const bundler = `
      import { build } from ${JSON.stringify(resolved('esbuild'))};
      const bundle = async (contents) => {
        const options = { bundle: true, minify: true, write: false, format: 'esm', platform: 'browser' };
        const result = await build({ stdin: { contents, resolveDir: process.cwd() }, logLevel: 'silent', ...options });
        return { text: result.outputFiles[0].text, warnings: result.warnings.length };
      };
      const [whole, redaction] = [await bundle("export * from '@agentlens/sdk'"), await bundle("export { redact } from '@agentlens/sdk'")];
      console.log(JSON.stringify({
        node: whole.text.match(/["'](node:[a-z_]+|undici|http|async_hooks)["']/g),
        zod: whole.text.includes('ZodError'),
        warnings: whole.warnings,
        redaction: redaction.text.length,
      }));
    `;
    const found = JSON.parse(await ran('bundle.mjs', bundler));
    expect(found).toMatchObject({ node: null, zod: false, warnings: 0 });
    expect(found.redaction).toBeLessThan(5_000);
  });
});
