import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..');

/** In a separate process, because esbuild does not work inside the test runner's realm. */
const BUNDLER = `
  import { build } from 'esbuild';
  const [contents, resolveDir] = process.argv.slice(-2);
  const { outputFiles } = await build({
    stdin: { contents, resolveDir }, bundle: true, minify: true, write: false,
    format: 'esm', platform: 'browser', conditions: ['@agentlens/source'],
  });
  process.stdout.write(outputFiles[0].text);
`;

/** Output of a bundler for a runtime without Node. */
async function bundled(code: string): Promise<string> {
  const options = { cwd: root, maxBuffer: 64 * 1024 * 1024 };
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', BUNDLER, code, root], options);
  return stdout;
}

const kilobytes = (text: string) => Number((gzipSync(text).length / 1000).toFixed(1));

describe('the bundle of an edge agent', () => {
  // Measured when the limits were set: 25.6, 1.3 and 36.5 kB compressed, with what providers report about usage. Exceeding a budget is a reason to look, not a
  // hard limit.
  it.each([
    ['the lifecycle', "export { AgentLens, withRun, getCurrentRun, wrapTool } from './src/index.ts'", 27],
    ['redaction alone', "export { redact } from './src/index.ts'", 2],
    ['everything', "export * from './src/index.ts'", 38],
  ])('is small: %s', async (_, code, budget) => {
    const size = kilobytes(await bundled(code));
    expect(size).toBeLessThanOrEqual(budget);
  });

  it('needs nothing from Node', async () => {
    const code = await bundled("export * from './src/index.ts'");
    expect(code.match(/["'](node:[a-z_]+|undici|http|async_hooks)["']/g)).toBeNull();
    expect(code).not.toMatch(/\bnew Function\(|\beval\(/);
  });

  it('carries no schema library', async () => {
    expect(await bundled("export { AgentLens } from './src/index.ts'")).not.toContain('ZodError');
  });
});
