// Transpiles the sources of every project into its dist/, without checking types: `npm run typecheck` and CI do that.
// A start transpiles what has changed since the last one, which a record of times and sizes tells.
import './require-node.mjs';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { TRANSPILE } from './transpile-options.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const RECORD = join(root, 'node_modules/.cache/agentlens-build.json');
const NOT_BUILT = /\.(spec|contract|testing|d)\.ts$/;

/** Transpiles what is missing or has changed, and says so. An up-to-date tree takes a twentieth of a second. */
export async function build() {
  const started = performance.now();
  const require = createRequire(import.meta.url);
  const settings = createHash('sha256')
    .update(JSON.stringify(TRANSPILE))
    .update(require('@swc/core/package.json').version)
    .digest('hex');
  const before = readRecord(settings);
  const sources = findSources();
  const stale = sources.filter((source) => before[source] === undefined || before[source] !== describe(source));
  const gone = Object.keys(before).filter((source) => !existsSync(join(root, source)));
  if (stale.length === 0 && gone.length === 0) return;
  for (const source of gone) for (const file of outputsOf(source)) rmSync(join(root, file), { force: true });
  const { transform } = require('@swc/core');
  const results = await Promise.allSettled(stale.map((source) => transpile(source, transform)));
  const failures = results.filter(({ status }) => status === 'rejected').map(({ reason }) => reason.message);
  if (failures.length > 0) throw new Error(`The build failed:\n${failures.join('\n')}`);
  const files = Object.fromEntries(sources.map((source) => [source, describe(source)]));
  write(RECORD, JSON.stringify({ settings, files }));
  console.log(`built ${stale.length} files in ${((performance.now() - started) / 1000).toFixed(1)} s`);
}

function readRecord(settings) {
  try {
    const record = JSON.parse(readFileSync(RECORD, 'utf8'));
    return record.settings === settings ? record.files : {};
  } catch {
    // Nothing was built yet, or another version wrote the record: everything is transpiled.
    return {};
  }
}

/** Every source of the projects that the compiler builds, relative to the repository. */
function findSources() {
  const { references } = JSON.parse(readFileSync(join(root, 'tsconfig.json'), 'utf8'));
  return references.flatMap(({ path }) =>
    readdirSync(join(root, path, 'src'), { recursive: true })
      .filter((file) => file.endsWith('.ts') && !NOT_BUILT.test(file))
      .map((file) => join(path, 'src', file).replaceAll('\\', '/')),
  );
}

function outputsOf(source) {
  const script = source.replace('/src/', '/dist/').replace(/\.ts$/, '.js');
  return [script, `${script}.map`];
}

/** Times and sizes of a source and of its output: both are compared, because the compiler writes to the same folder. */
function describe(source) {
  return [source, outputsOf(source)[0]]
    .map((file) => statSync(join(root, file), { throwIfNoEntry: false }))
    .map((found) => (found === undefined ? 'missing' : `${found.mtimeMs}:${found.size}`))
    .join(' ');
}

async function transpile(source, transform) {
  const [script, sourceMap] = outputsOf(source);
  const { code, map } = await transform(readFileSync(join(root, source), 'utf8'), {
    ...TRANSPILE,
    jsc: { ...TRANSPILE.jsc, rewriteRelativeImportExtensions: true },
    filename: join(root, source),
    sourceFileName: relative(dirname(script), source).replaceAll('\\', '/'),
    inlineSourcesContent: false,
    sourceMaps: true,
    configFile: false,
    swcrc: false,
  });
  write(join(root, sourceMap), map);
  write(join(root, script), `${code}\n//# sourceMappingURL=${script.slice(script.lastIndexOf('/') + 1)}.map\n`);
}

/** Renames a draft, because another process may read the file. */
function write(file, text) {
  mkdirSync(dirname(file), { recursive: true });
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, text);
  renameSync(draft, file);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    await build();
  } catch (error) {
    console.error(error.message);
    process.exit(1);
  }
}
