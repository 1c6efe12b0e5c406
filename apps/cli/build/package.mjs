// Makes the package as it is published: node apps/cli/build/package.mjs [folder for the tarball | --folder-only]
// Everything the command needs is bundled in, so that `npx @agentlens/cli` fetches one small file. What is published is
// written to dist/npm, with a manifest of its own, and packed from there.
import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import * as esbuild from 'esbuild';
import { publishedFields } from '../../../scripts/published-fields.mjs';

const cli = fileURLToPath(new URL('..', import.meta.url));
const root = join(cli, '../..');
const out = join(cli, 'dist/npm');
const run = promisify(execFile);

/** A chunk for each command: only the one that is used is read. */
async function bundle() {
  const { outputFiles, metafile } = await esbuild.build({
    entryPoints: { main: join(cli, 'src/main.ts') },
    ...{ outdir: join(out, 'dist'), bundle: true, splitting: true, metafile: true, write: false, minify: true },
    ...{ format: 'esm', platform: 'node', target: 'node20', conditions: ['@agentlens/source'] },
    // Packages of the CommonJS kind ask for Node's own modules with `require`.
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
    chunkNames: 'chunks/[name]-[hash]',
    keepNames: true,
    logLevel: 'warning',
  });
  for (const { path, contents } of outputFiles) {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, contents);
  }
  return Object.keys(metafile.inputs);
}

/** The hook of coding agents: one file of its own, because hosts start it and an installation copies it. */
async function bundleHook() {
  await esbuild.build({
    entryPoints: [join(root, 'integrations/js/guard/src/main.ts')],
    ...{ outfile: join(out, 'dist/agentlens-hook.cjs'), bundle: true, minify: true, keepNames: true },
    ...{ format: 'cjs', platform: 'node', target: 'node20', conditions: ['@agentlens/source'] },
    logLevel: 'warning',
  });
}

async function writeManifest() {
  const manifest = JSON.parse(await readFile(join(cli, 'package.json'), 'utf8'));
  const { name, version, description, license, type, engines, keywords, publishConfig, bin } = manifest;
  const origin = publishedFields('apps/cli');
  const published = { name, version, description, license, ...origin, type, engines, keywords, publishConfig, bin };
  await writeFile(join(out, 'package.json'), `${JSON.stringify(published, null, 2)}\n`);
}

/** The licences of what is bundled have to come along. */
async function writeNotices(inputs) {
  const folders = new Set(inputs.map((input) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1]));
  const notices = [];
  for (const folder of [...folders].filter((one) => one !== undefined).toSorted((a, b) => (a < b ? -1 : 1))) {
    const path = resolve(folder);
    const { name, version, license } = JSON.parse(await readFile(join(path, 'package.json'), 'utf8'));
    const text = await licenceText(path);
    notices.push(`${name} ${version} (${license})\n\n${text}`);
  }
  await writeFile(join(out, 'THIRD-PARTY-LICENSES.txt'), `${notices.join('\n\n---\n\n')}\n`);
}

async function licenceText(folder) {
  for (const name of ['LICENSE', 'LICENSE.md', 'LICENSE.txt', 'LICENCE', 'license']) {
    try {
      return (await readFile(join(folder, name), 'utf8')).trim();
    } catch (error) {
      if (error.code !== 'ENOENT') throw error;
    }
  }
  throw new Error(`${folder} has no licence text to ship`);
}

/** Answers the folder of the unpacked package. */
export async function makeFolder() {
  await rm(out, { recursive: true, force: true });
  const inputs = await bundle();
  await bundleHook();
  await writeManifest();
  await writeNotices(inputs);
  await cp(join(cli, 'bin'), join(out, 'bin'), { recursive: true });
  await cp(join(cli, 'README.md'), join(out, 'README.md'));
  for (const file of ['LICENSE', 'CHANGELOG.md']) await cp(join(root, file), join(out, file));
  return out;
}

/** Answers the tarball. */
export async function makePackage(folder) {
  await makeFolder();
  await mkdir(folder, { recursive: true });
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder], { cwd: out });
  return join(folder, JSON.parse(stdout)[0].filename);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [where = out] = process.argv.slice(2);
  console.log(where === '--folder-only' ? await makeFolder() : await makePackage(resolve(where)));
}
