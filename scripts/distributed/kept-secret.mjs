import { existsSync, readFileSync, writeFileSync } from 'node:fs';

/** Returns the text in `file`. Creates it on first use, readable by its owner only. */
export function keptSecret(file, make) {
  if (!existsSync(file)) writeFileSync(file, `${make()}\n`, { mode: 0o600 });
  return readFileSync(file, 'utf8').trim();
}
