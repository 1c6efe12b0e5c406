import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { PlatformConfig } from './config.ts';

const PRIVATE = 0o600;

/**
 * The configured keys, or one made at first start and kept beside the data. Losing that file means losing the secrets
 * of every action, so a backup of the data folder must hold it.
 */
export async function secretKeysOf(config: PlatformConfig): Promise<readonly string[]> {
  if (config.secretKeys !== undefined) return config.secretKeys;
  const file = join(config.dataDir, 'secret-key');
  await mkdir(config.dataDir, { recursive: true });
  try {
    // Exclusive: of two first starters, one key wins.
    await writeFile(file, `${randomBytes(32).toString('base64')}\n`, { mode: PRIVATE, flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  return [(await readFile(file, 'utf8')).trim()];
}
