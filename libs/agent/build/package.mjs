// Builds the published package: node libs/agent/build/package.mjs [folder for the tarball] Workspace code that it
// depends on is bundled, except the SDK, which is a separate package. The result is written to dist/npm with its own
// manifest and packed from there.
import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import * as esbuild from 'esbuild';
import { publishedFields } from '../../../scripts/published-fields.mjs';

const agent = fileURLToPath(new URL('..', import.meta.url));
const root = join(agent, '../..');
const out = join(agent, 'dist/npm');
/** Bundled; their third-party imports become dependencies of the package. */
const BUNDLED = ['agent', 'egress', 'guardrails', 'contracts', 'shell'];
const SDK = '@agentlens/sdk';
/** Loaded on first use, which a bundler does not see. */
const LOADED_LATER = ['undici'];

const run = promisify(execFile);
const readManifest = async (folder) => JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
const manifest = await readManifest(agent);
/** The entry behind each path of the manifest: `./llm` → `llm/index`. */
const entries = Object.fromEntries(
  Object.entries(manifest.exports).map(([path, target]) => [
    path,
    target['@agentlens/source'].replace(/^\.\/src\/|\.ts$/g, ''),
  ]),
);
const peers = manifest.peerDependencies;

/** Every third-party package that the bundled code may import, with its version. */
async function othersOf(libs) {
  const manifests = await Promise.all(libs.map((lib) => readManifest(join(root, 'libs', lib))));
  const all = manifests.flatMap(({ dependencies }) => Object.entries(dependencies));
  return new Map(all.filter(([name]) => !name.startsWith('@agentlens/') || name === SDK));
}

/** For the declarations; the code is bundled from its sources. Types are checked by `npm run typecheck`. */
async function compile() {
  const compiler = createRequire(import.meta.url).resolve('typescript/package.json');
  await run(process.execPath, [join(dirname(compiler), 'bin/tsc'), '--build', '--noCheck', agent]);
}

/** Returns the names of imported packages. */
async function bundle(others) {
  const { metafile } = await esbuild.build({
    entryPoints: Object.fromEntries(Object.values(entries).map((name) => [name, join(agent, 'src', `${name}.ts`)])),
    ...{
      outdir: join(out, 'dist'),
      bundle: true,
      splitting: true,
      metafile: true,
      format: 'esm',
      platform: 'node',
      target: 'node22',
    },
    conditions: ['@agentlens/source'],
    external: [...others.keys(), ...Object.keys(peers)].flatMap((name) => [name, `${name}/*`]),
    chunkNames: 'shared/[name]-[hash]',
    logLevel: 'warning',
  });
  const imports = Object.values(metafile.outputs).flatMap((output) => output.imports);
  return new Set(
    imports.filter(({ external, path }) => external && !path.startsWith('node:')).map(({ path }) => packageOf(path)),
  );
}

function packageOf(path) {
  return path
    .split('/')
    .slice(0, path.startsWith('@') ? 2 : 1)
    .join('/');
}

/**
 * Copies the declarations reachable from the entries. Fails if they need types of packages that are not dependencies.
 */
async function declare(known) {
  const waiting = Object.values(entries).map((name) => join(agent, 'dist', `${name}.d.ts`));
  const done = new Set();
  for (const file of waiting) {
    if (done.has(file)) continue;
    done.add(file);
    const text = await readFile(file, 'utf8');
    for (const [, path] of text.matchAll(/(?:from|import\()\s*['"]([^'"]+)['"]/g)) {
      if (path.startsWith('.')) waiting.push(join(dirname(file), path.replace(/\.[jt]s$/, '.d.ts')));
      else if (!path.startsWith('node:') && !known.has(packageOf(path)))
        throw new Error(`${relative(agent, file)} would need the types of ${path}`);
    }
    const copy = join(out, 'types', relative(join(agent, 'dist'), file));
    await mkdir(dirname(copy), { recursive: true });
    await writeFile(copy, text.replace(/\n\/\/# sourceMappingURL=.*/, ''));
  }
}

async function writePackageManifest(others, imported) {
  const {
    name,
    version,
    description,
    license,
    type,
    sideEffects,
    engines,
    keywords,
    publishConfig,
    peerDependenciesMeta,
  } = manifest;
  const exports = Object.fromEntries(
    Object.entries(entries).map(([path, entry]) => [
      path,
      { types: `./types/${entry}.d.ts`, default: `./dist/${entry}.js` },
    ]),
  );
  const dependencies = Object.fromEntries(
    [...others]
      .filter(([other]) => imported.has(other) || LOADED_LATER.includes(other))
      .toSorted(([a], [b]) => (a < b ? -1 : 1)),
  );
  const whole = {
    name,
    version,
    description,
    license,
    type,
    sideEffects,
    engines,
    keywords,
    publishConfig,
    ...publishedFields('libs/agent'),
    exports,
    dependencies,
  };
  await writeFile(
    join(out, 'package.json'),
    `${JSON.stringify({ ...whole, peerDependencies: peers, peerDependenciesMeta }, null, 2)}\n`,
  );
}

/** Returns the tarball. */
export async function makePackage(folder) {
  await compile();
  await rm(out, { recursive: true, force: true });
  const others = await othersOf(BUNDLED);
  const imported = await bundle(others);
  await declare(new Set([...others.keys(), ...Object.keys(peers)]));
  await writePackageManifest(others, imported);
  await cp(join(agent, 'README.md'), join(out, 'README.md'));
  for (const file of ['LICENSE', 'CHANGELOG.md']) await cp(join(root, file), join(out, file));
  await mkdir(folder, { recursive: true });
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder], { cwd: out });
  return join(folder, JSON.parse(stdout)[0].filename);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(await makePackage(resolve(process.argv[2] ?? out)));
