import { dirname, join, resolve } from 'node:path';
import type { Env } from './env.ts';

const DATA_FOLDER = '.agentlens';

/** Where a platform that was started in this folder, or in one above, keeps its data: the nearest first. */
export function dataFolders(folder: string, env: Env): string[] {
  const configured = env.AGENTLENS_DATA_DIR;
  if (configured) return [resolve(folder, configured)];
  const above = dirname(folder);
  return [join(folder, DATA_FOLDER), ...(above === folder ? [] : dataFolders(above, env))];
}
