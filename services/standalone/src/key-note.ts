import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { PlatformConfig } from '@agentlens/platform';

/** Which API key the person at the terminal can use, and how to refer to it. */
export type KeyNote =
  | { readonly kind: 'made' | 'found'; readonly key: string; readonly file: string }
  | { readonly kind: 'given' }
  /** Keys exist, but none was noted here. */
  | { readonly kind: 'lost'; readonly file: string };

const PRIVATE = 0o600;

/** A key of the first start: the file that holds it, and the variable that can provide it instead. */
interface FirstKeyFile {
  readonly name: 'api-key' | 'platform-key';
  readonly given: string | undefined;
}

/** Saves a key made at first start next to the data, readable by its owner only, so that a later start can show it. */
export async function keyNote(
  { dataDir }: Pick<PlatformConfig, 'dataDir'>,
  { name, given }: FirstKeyFile,
  made: string | null,
): Promise<KeyNote> {
  const file = join(dataDir, name);
  if (given !== undefined) return { kind: 'given' };
  if (made !== null) {
    await mkdir(dataDir, { recursive: true });
    await writeFile(file, `${made}\n`, { mode: PRIVATE });
    return { kind: 'made', key: made, file };
  }
  const noted = await readFile(file, 'utf8').catch(() => '');
  return noted.trim() === '' ? { kind: 'lost', file } : { kind: 'found', key: noted.trim(), file };
}
