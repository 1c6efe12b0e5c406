import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { PlatformConfig } from '@agentlens/platform';

/** Which API key the person at the terminal can use, and how they may refer to it. */
export type KeyNote =
  | { readonly kind: 'made' | 'found'; readonly key: string; readonly file: string }
  | { readonly kind: 'given' }
  /** Keys exist but nobody noted one here. */
  | { readonly kind: 'lost'; readonly file: string };

const PRIVATE = 0o600;

/** Notes a key made at first start beside the data, readable by its owner only, so that a later start can show it. */
export async function keyNote(config: PlatformConfig, made: string | null): Promise<KeyNote> {
  const file = join(config.dataDir, 'api-key');
  if (config.bootstrapKey !== undefined) return { kind: 'given' };
  if (made !== null) {
    await mkdir(config.dataDir, { recursive: true });
    await writeFile(file, `${made}\n`, { mode: PRIVATE });
    return { kind: 'made', key: made, file };
  }
  const noted = await readFile(file, 'utf8').catch(() => '');
  return noted.trim() === '' ? { kind: 'lost', file } : { kind: 'found', key: noted.trim(), file };
}
