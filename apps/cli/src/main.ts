import { readFileSync } from 'node:fs';
import { run } from './program.ts';

/* Entry point: connects the program to the process. */

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string;
};
const interrupted = new AbortController();
let signals = 0;
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    interrupted.abort();
    // A second signal exits at once.
    if (++signals > 1) process.exit(130);
  });
}
// The reader closed the pipe, as `head` does.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});

process.exitCode = await run(process.argv.slice(2), {
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  folder: process.cwd(),
  fetch: globalThis.fetch,
  nowMs: Date.now,
  signal: interrupted.signal,
  version,
});
