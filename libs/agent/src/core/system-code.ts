import { isPlainObject } from './json.ts';

/** The code of an error of the system, such as `ENOENT`; told by its shape, which survives realms. */
export function systemCode(error: unknown): string | undefined {
  return isPlainObject(error) && typeof error.code === 'string' ? error.code : undefined;
}
