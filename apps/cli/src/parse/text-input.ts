import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { usageError } from '../command-error.ts';
import type { Host } from '../context.ts';
import { readTextFile } from '../settings/json-file.ts';

/** The text of a file, or of stdin for `-`. */
export async function textOf(file: string, { folder, stdin }: Host): Promise<string> {
  if (file === '-') return text(stdin);
  const content = readTextFile(resolve(folder, file));
  if (content === undefined) throw usageError(`There is no file ${file}`);
  return content;
}
