// Runs every benchmark in a separate process.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const BENCHES = [
  ['steps.mjs', 'a step compared with other frameworks'],
  ['sessions.mjs', '10,000 idle sessions'],
  ['events.mjs', 'events to many readers'],
];
for (const [file, title] of BENCHES) {
  console.log(`\n${title}`);
  const args = ['--expose-gc', '--conditions=@agentlens/source', join(import.meta.dirname, file)];
  const { status } = spawnSync(process.execPath, args, { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}
