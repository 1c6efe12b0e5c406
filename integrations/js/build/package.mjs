// Makes the package of an adapter as it is published: node integrations/js/build/package.mjs <adapter> [folder]
// Its own code is bundled; the SDK and the framework stay what the user has installed. A command also contains the SDK and
// everything that it needs, so that `npx` fetches one file.
import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import * as esbuild from 'esbuild';
import { publishedFields } from '../../../scripts/published-fields.mjs';

const workspace = fileURLToPath(new URL('..', import.meta.url));
const root = join(workspace, '../..');
const run = promisify(execFile);

/** Answers the tarball. */
export async function makeAdapterPackage(adapter, folder) {
  const home = join(workspace, adapter);
  const out = join(home, 'dist/npm');
  const manifest = JSON.parse(await readFile(join(home, 'package.json'), 'utf8'));
  await rm(join(home, 'dist'), { recursive: true, force: true });
  await bundle(
    home,
    out,
    Object.values(manifest.exports).map((entry) => entry['@agentlens/source']),
  );
  await bundleCommands(home, out, Object.values(manifest.bin ?? {}));
  await declare(home, out);
  await writeFile(
    join(out, 'package.json'),
    `${JSON.stringify(published(manifest, `integrations/js/${adapter}`), null, 2)}\n`,
  );
  await cp(join(home, 'README.md'), join(out, 'README.md'));
  for (const file of ['LICENSE', 'CHANGELOG.md']) await cp(join(root, file), join(out, file));
  await mkdir(folder, { recursive: true });
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder], { cwd: out });
  return join(folder, JSON.parse(stdout)[0].filename);
}

async function bundle(home, out, sources) {
  const names = sources.map((path) => basename(path, '.ts'));
  await esbuild.build({
    entryPoints: Object.fromEntries(names.map((name) => [name, join(home, 'src', `${name}.ts`)])),
    outdir: join(out, 'dist'),
    bundle: true,
    splitting: true,
    packages: 'external',
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    chunkNames: 'shared/[name]-[hash]',
    logLevel: 'warning',
  });
}

async function bundleCommands(home, out, files) {
  for (const file of files) {
    await esbuild.build({
      entryPoints: [join(home, file.replace('./dist/', './src/').replace('.js', '.ts'))],
      outfile: join(out, file),
      bundle: true,
      format: 'esm',
      platform: 'node',
      target: 'node20.19',
      conditions: ['@agentlens/source'],
      // Packages of the CommonJS kind ask for Node's own modules with `require`.
      banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
      keepNames: true,
      logLevel: 'warning',
    });
  }
}

async function declare(home, out) {
  const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc');
  // CI checks the types with those of the frameworks; the declarations need none of them.
  const options = ['--noCheck', '--declaration', '--emitDeclarationOnly', '--noEmit', 'false'];
  const config = join(home, 'dist/tsconfig.json');
  await writeFile(
    config,
    JSON.stringify({
      extends: '../../tsconfig.json',
      compilerOptions: { rootDir: '../src', typeRoots: [join(root, 'node_modules/@types')] },
      include: ['../src'],
      exclude: ['../src/**/*.spec.ts'],
    }),
  );
  await run(process.execPath, [tsc, '-p', config, ...options, '--outDir', join(out, 'types')]);
}

function published(
  { name, version, description, license, type, sideEffects, engines, exports, bin, frameworks = {} },
  directory,
) {
  const entries = Object.entries(exports).map(([path, { types, default: code }]) => [
    path,
    { types: types.replace('./dist/', './types/'), default: code },
  ]);
  const peers = { '@agentlens/sdk': `^${version}`, ...frameworks };
  // A command needs no SDK beside it; who imports the package does.
  const notNeeded = [...Object.keys(frameworks), ...(bin === undefined ? [] : ['@agentlens/sdk'])];
  const optional = Object.fromEntries(notNeeded.map((peer) => [peer, { optional: true }]));
  return {
    ...{ name, version, description, license, type, sideEffects, engines },
    publishConfig: { access: 'public' },
    ...publishedFields(directory),
    ...(bin === undefined ? {} : { bin }),
    exports: Object.fromEntries(entries),
    peerDependencies: peers,
    ...(Object.keys(optional).length === 0 ? {} : { peerDependenciesMeta: optional }),
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [adapter, folder = join(workspace, adapter ?? '', 'dist')] = process.argv.slice(2);
  if (adapter === undefined) throw new Error('usage: package.mjs <adapter> [folder for the tarball]');
  console.log(await makeAdapterPackage(adapter, resolve(folder)));
}
