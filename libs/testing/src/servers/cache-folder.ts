import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';

/** Where downloaded server packages are kept between runs: `AGENTLENS_TEST_CACHE`, else the user's cache folder. */
export function cacheFolder(): string {
  const chosen = process.env.AGENTLENS_TEST_CACHE;
  if (chosen) return chosen;
  const base = process.env.XDG_CACHE_HOME ?? (homedir() ? join(homedir(), '.cache') : tmpdir());
  return join(base, 'agentlens');
}
