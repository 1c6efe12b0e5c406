import { readFileSync } from 'node:fs';
import { CommandError } from '../command-error.ts';

/** What a JSON file holds; undefined where there is no such file. */
export function readJsonFile(file: string): unknown {
  const text = readTextFile(file);
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new CommandError(`${file} is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Undefined where there is no such file. */
export function readTextFile(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new CommandError(`${file} cannot be read: ${message}`);
  }
}
