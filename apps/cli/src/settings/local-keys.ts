import { dirname, join, resolve } from 'node:path';
import type { Env } from './env.ts';
import { readTextFile } from './json-file.ts';

const DATA_FOLDER = '.agentlens';
/** `npm start` and `npm run start:distributed` each keep a key of their own. */
const KEY_FILES = ['api-key', 'distributed/api-key'];

export interface LocalKey {
  readonly file: string;
  readonly key: string;
}

/** The keys that a platform started in this folder, or in one above, wrote into its data folder. */
export function localKeys(folder: string, env: Env): LocalKey[] {
  const configured = env.AGENTLENS_DATA_DIR;
  if (configured) return keysIn(resolve(folder, configured));
  for (let at = folder; ; at = dirname(at)) {
    const keys = keysIn(join(at, DATA_FOLDER));
    if (keys.length > 0 || dirname(at) === at) return keys;
  }
}

function keysIn(dataFolder: string): LocalKey[] {
  return KEY_FILES.map((name) => join(dataFolder, name)).flatMap((file) => {
    const key = readTextFile(file)?.trim();
    return key ? [{ file, key }] : [];
  });
}
