// Runs the TypeScript sources directly, for development: `node --import ./scripts/source-loader.mjs …`.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transformSync } from '@swc/core';
import { TRANSPILE } from './transpile-options.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const cache = join(root, 'node_modules/.cache/agentlens-sources');
mkdirSync(cache, { recursive: true });

registerHooks({
  load(url, context, nextLoad) {
    if (!url.startsWith('file:') || !url.endsWith('.ts')) return nextLoad(url, context);
    const path = fileURLToPath(url);
    return { format: 'module', source: compiled(path, readFileSync(path, 'utf8')), shortCircuit: true };
  },
});

/** Compiles a module, or reads it from the cache, whose key is a hash of the content. */
function compiled(path, source) {
  const file = join(cache, `${createHash('sha256').update(path).update(source).digest('hex')}.mjs`);
  try {
    return readFileSync(file, 'utf8');
  } catch {
    const { code } = transformSync(source, { ...TRANSPILE, filename: path, sourceMaps: 'inline' });
    const draft = `${file}.${process.pid}`;
    writeFileSync(draft, code);
    renameSync(draft, file);
    return code;
  }
}
