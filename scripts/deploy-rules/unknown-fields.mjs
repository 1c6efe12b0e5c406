import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';

/**
 * Finds misspelled fields, which the schemas accept and a cluster drops silently. The objects are written as typed
 * literals, so that the compiler rejects fields that the types do not have. `modelsOf(apiVersion)` names their module,
 * which is found from the folder `home`.
 */
export function unknownFields(home, documents, modelsOf) {
  mkdirSync(join(home, '.cache'), { recursive: true });
  const folder = mkdtempSync(join(home, '.cache', 'kubernetes-'));
  try {
    const files = documents.map((document, index) => {
      const file = join(folder, `${index}.mts`);
      writeFileSync(file, literal(document, modelsOf(document.apiVersion)));
      return file;
    });
    const run = compile(files);
    if (run.status === 0) return [];
    const lines = `${run.stdout}${run.stderr}`.split('\n').filter((line) => / error TS/.test(line));
    return lines.length > 0
      ? lines.map((line) => withObjectName(line, documents))
      : [`tsc: ${run.stderr || run.stdout}`];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function literal(document, models) {
  const type = `I${document.kind}`;
  return `import type { ${type} } from '${models}';
export const document: ${type} = ${JSON.stringify(document, null, 1)};
`;
}

function compile(files) {
  const manifest = createRequire(import.meta.url).resolve('typescript/package.json');
  const tsc = join(dirname(manifest), JSON.parse(readFileSync(manifest, 'utf8')).bin.tsc);
  const options = [
    '--noEmit',
    '--strict',
    '--skipLibCheck',
    '--module',
    'nodenext',
    '--target',
    'es2024',
    '--types',
    '',
  ];
  return spawnSync(process.execPath, [tsc, '--ignoreConfig', ...options, ...files], { encoding: 'utf8' });
}

/** Replaces the file in `.../3.mts(12,4): error TS2353: Object literal ...` with the object's name. */
function withObjectName(line, documents) {
  const [, file = '', message = line] = /^(.*?)\(\d+,\d+\): error TS\d+: (.*)$/.exec(line) ?? [];
  const document = documents[Number.parseInt(basename(file), 10)];
  return `${document?.kind}/${document?.metadata?.name}: ${message}`;
}
