import { join } from 'node:path';
import { dataFolders } from './data-folders.ts';
import type { Env } from './env.ts';
import { readTextFile } from './json-file.ts';

/** `npm start` and `npm run start:distributed` each keep a key of their own. */
const KEY_FILES = ['api-key', 'distributed/api-key'];

export interface LocalKey {
  readonly file: string;
  readonly key: string;
}

/** The keys that a platform started in this folder, or in the nearest one above, wrote into its data folder. */
export function localKeys(folder: string, env: Env): LocalKey[] {
  const found = dataFolders(folder, env).map(keysIn);
  return found.find((keys) => keys.length > 0) ?? [];
}

function keysIn(dataFolder: string): LocalKey[] {
  return KEY_FILES.map((name) => join(dataFolder, name)).flatMap((file) => {
    const key = readTextFile(file)?.trim();
    return key ? [{ file, key }] : [];
  });
}
