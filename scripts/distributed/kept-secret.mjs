import { existsSync, readFileSync, writeFileSync } from 'node:fs';

/** The text in `file`; made at the first call and kept there, readable by its owner only. */
export function keptSecret(file, make) {
  if (!existsSync(file)) writeFileSync(file, `${make()}\n`, { mode: 0o600 });
  return readFileSync(file, 'utf8').trim();
}
