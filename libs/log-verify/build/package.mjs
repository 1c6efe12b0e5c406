// Makes the package as it is served: node libs/log-verify/build/package.mjs [folder for the tarball]
// One file that a reader can read: bundled, not minified, without a dependency.
import { execFile } from 'node:child_process';
import { chmod, cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import * as esbuild from 'esbuild';
import { publishedFields } from '../../../scripts/published-fields.mjs';

const lib = fileURLToPath(new URL('..', import.meta.url));
const root = join(lib, '../..');
const out = join(lib, 'dist/npm');
const PROGRAM = 'agentlens-verify.js';
const run = promisify(execFile);

async function bundle() {
  const { metafile } = await esbuild.build({
    entryPoints: [join(lib, 'src/bin.ts')],
    ...{ outfile: join(out, PROGRAM), bundle: true, metafile: true, logLevel: 'warning' },
    ...{ format: 'esm', platform: 'node', target: 'node20', conditions: ['@agentlens/source'] },
  });
  const foreign = Object.keys(metafile.inputs).filter((file) => !resolve(file).startsWith(join(lib, 'src')));
  if (foreign.length > 0) throw new Error(`the verifier must contain its own code only, not ${foreign.join(', ')}`);
  await chmod(join(out, PROGRAM), 0o755);
}

async function writeManifest() {
  const { name, version, description, license, type } = JSON.parse(await readFile(join(lib, 'package.json'), 'utf8'));
  const published = {
    ...{ name, version, description, license, ...publishedFields('libs/log-verify'), type },
    engines: { node: '>=20.12' },
    publishConfig: { access: 'public' },
    bin: { 'agentlens-verify': PROGRAM },
  };
  await writeFile(join(out, 'package.json'), `${JSON.stringify(published, null, 2)}\n`);
}

/** Answers the tarball. */
export async function makePackage(folder) {
  await rm(out, { recursive: true, force: true });
  await mkdir(out, { recursive: true });
  await bundle();
  await writeManifest();
  await cp(join(lib, 'README.md'), join(out, 'README.md'));
  await cp(join(root, 'LICENSE'), join(out, 'LICENSE'));
  await mkdir(folder, { recursive: true });
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder], { cwd: out });
  return join(folder, JSON.parse(stdout)[0].filename);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [where = out] = process.argv.slice(2);
  console.log(await makePackage(resolve(where)));
}
