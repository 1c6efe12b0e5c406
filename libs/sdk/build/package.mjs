// Builds the published package: node libs/sdk/build/package.mjs [folder for the tarball] Workspace code that the SDK
// depends on is bundled; third-party packages stay dependencies. The result is written to dist/npm with its own
// manifest and packed from there.
import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import * as esbuild from 'esbuild';
import { publishedFields } from '../../../scripts/published-fields.mjs';

const sdk = fileURLToPath(new URL('..', import.meta.url));
const root = join(sdk, '../..');
const out = join(sdk, 'dist/npm');
/** Entry points of `@agentlens/sdk` and its subpaths. */
const ENTRIES = { '.': 'index', './adapter': 'adapter/index', './rules': 'rules/index', './testing': 'testing/index' };
const RUNTIMES = { node: 'runtime/node', default: 'runtime/web' };
/** Separate chunks, so that importing only this pulls in nothing else. */
const APART = ['redact/redact'];
/** Bundled; their third-party imports become dependencies of the package. */
const BUNDLED = ['sdk', 'guardrails', 'contracts'];

const run = promisify(execFile);
const readManifest = async (folder) => JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));

/** Every third-party package that the bundled code may import, with its version. */
async function othersOf(libs) {
  const manifests = await Promise.all(libs.map((lib) => readManifest(join(root, 'libs', lib))));
  const all = manifests.flatMap(({ dependencies }) => Object.entries(dependencies));
  return new Map(all.filter(([name]) => !name.startsWith('@agentlens/')));
}

/** For the declarations; the code is bundled from its sources. Types are checked by `npm run typecheck`. */
async function compile() {
  const manifest = createRequire(import.meta.url).resolve('typescript/package.json');
  await run(process.execPath, [join(dirname(manifest), 'bin/tsc'), '--build', '--noCheck', sdk]);
}

/** Returns the names of imported packages. */
async function bundle(others) {
  const names = [...Object.values(ENTRIES), ...Object.values(RUNTIMES), ...APART];
  const { metafile, outputFiles } = await esbuild.build({
    entryPoints: Object.fromEntries(names.map((name) => [name, join(sdk, 'src', `${name}.ts`)])),
    ...{ outdir: join(out, 'dist'), bundle: true, splitting: true, metafile: true, write: false },
    ...{ format: 'esm', platform: 'neutral', target: 'es2022', conditions: ['@agentlens/source'] },
    // Chosen at run time: by Node, or by the bundler of an edge runtime.
    external: ['#runtime', 'node:*', ...others.keys()],
    chunkNames: 'shared/[name]-[hash]',
    logLevel: 'warning',
  });
  for (const { path, text } of outputFiles) {
    await mkdir(dirname(path), { recursive: true });
    // Removes side-effect imports without effects, which bundlers warn about.
    await writeFile(path, text.replaceAll(/^import "\.{1,2}\/[^"]+";\n/gm, ''));
  }
  const imports = Object.values(metafile.outputs).flatMap((output) => output.imports);
  return new Set(imports.filter(({ external }) => external).map(({ path }) => packageOf(path)));
}

function packageOf(path) {
  return path
    .split('/')
    .slice(0, path.startsWith('@') ? 2 : 1)
    .join('/');
}

/** Copies the declarations reachable from the entries. Fails if one is not declared in the package itself. */
async function declare() {
  const waiting = Object.values(ENTRIES).map((name) => join(sdk, 'dist', `${name}.d.ts`));
  const done = new Set();
  for (const file of waiting) {
    if (done.has(file)) continue;
    done.add(file);
    const text = await readFile(file, 'utf8');
    for (const [, path] of text.matchAll(/(?:from|import\()\s*['"]([^'"]+)['"]/g)) {
      if (!path.startsWith('.')) throw new Error(`${relative(sdk, file)} would need the types of ${path}`);
      waiting.push(join(dirname(file), path.replace(/\.[jt]s$/, '.d.ts')));
    }
    const copy = join(out, 'types', relative(join(sdk, 'dist'), file));
    await mkdir(dirname(copy), { recursive: true });
    await writeFile(copy, text.replace(/\n\/\/# sourceMappingURL=.*/, ''));
  }
}

async function writeManifest(others, imported) {
  const { name, version, description, license, type, sideEffects, engines, keywords, publishConfig } =
    await readManifest(sdk);
  const exports = Object.fromEntries(
    Object.entries(ENTRIES).map(([path, entry]) => [
      path,
      { types: `./types/${entry}.d.ts`, default: `./dist/${entry}.js` },
    ]),
  );
  const imports = Object.fromEntries(Object.entries(RUNTIMES).map(([where, entry]) => [where, `./dist/${entry}.js`]));
  const dependencies = Object.fromEntries(
    [...others].filter(([other]) => imported.has(other)).toSorted(([a], [b]) => (a < b ? -1 : 1)),
  );
  const manifest = { name, version, description, license, type, sideEffects, engines, keywords, publishConfig };
  const origin = publishedFields('libs/sdk');
  const whole = { ...manifest, ...origin, imports: { '#runtime': imports }, exports, dependencies };
  await writeFile(join(out, 'package.json'), `${JSON.stringify(whole, null, 2)}\n`);
}

/** Returns the tarball. */
export async function makePackage(folder) {
  await compile();
  await rm(out, { recursive: true, force: true });
  const others = await othersOf(BUNDLED);
  const imported = await bundle(others);
  await declare();
  await writeManifest(others, imported);
  await cp(join(sdk, 'README.md'), join(out, 'README.md'));
  for (const file of ['LICENSE', 'CHANGELOG.md']) await cp(join(root, file), join(out, file));
  await mkdir(folder, { recursive: true });
  const packing = ['pack', '--json', '--pack-destination', folder];
  const { stdout } = await run('npm', packing, { cwd: out });
  return join(folder, JSON.parse(stdout)[0].filename);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(await makePackage(resolve(process.argv[2] ?? out)));
