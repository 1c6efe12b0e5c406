import { isPlainObject } from './json.ts';

/** The code of a system error, such as `ENOENT`. Checks the shape, which also works across realms. */
export function systemCode(error: unknown): string | undefined {
  return isPlainObject(error) && typeof error.code === 'string' ? error.code : undefined;
}
