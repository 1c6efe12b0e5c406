import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..');

/** Runs in its own process, because esbuild does not work inside the test runner's realm. */
const BUNDLER = `
  import { build } from 'esbuild';
  const [contents, resolveDir, ...external] = process.argv.slice(1);
  const { outputFiles } = await build({
    stdin: { contents, resolveDir }, bundle: true, minify: true, write: false, external, target: 'es2022',
    format: 'esm', platform: 'browser', conditions: ['@agentlens/source'],
  });
  process.stdout.write(outputFiles[0].text);
`;

/** Bundles `code` for a browser. Fails if it needs Node. */
async function bundled(code: string, ...external: string[]): Promise<string> {
  const options = { cwd: root, maxBuffer: 64 * 1024 * 1024 };
  const args = ['--input-type=module', '-e', BUNDLER, code, root, ...external];
  const { stdout } = await run(process.execPath, args, options);
  return stdout;
}

const EVERYTHING = "export * from './src/index.ts'";

describe('the browser bundle', () => {
  it('has less than 3 kB of client code, minified, plus the route table', async () => {
    expect((await bundled(EVERYTHING, './routes.ts')).length).toBeLessThan(3_000);
  });

  it('has less than 4.1 kB compressed with the route table', async () => {
    expect(gzipSync(await bundled(EVERYTHING)).length).toBeLessThan(4_100);
  });

  it('contains no schema library', async () => {
    expect(await bundled(EVERYTHING)).not.toContain('ZodError');
  });

  it('can include the declarations, which need nothing from Node', async () => {
    const code = await bundled("export * from '@agentlens/operations'");
    expect(code).toContain('/api/runs/:id/timeline');
    expect(code.match(/["'](node:[a-z_]+|crypto|fs|net|http)["']|\bBuffer\b/g)).toBeNull();
  });
});
