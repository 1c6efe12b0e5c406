import { explain, loadConfig, shutDownOnSignal } from '@agentlens/platform';
import { banner } from './banner.ts';
import { startStandalone } from './start-standalone.ts';

try {
  const starting = startStandalone(loadConfig('standalone'));
  // From the first moment on: a Ctrl-C while it starts must not leave the database running.
  shutDownOnSignal(
    async () => (await starting).stop(),
    () => process.stdout.write('\nFinishing what was taken, then stopping.\n'),
  );
  process.stdout.write(banner(await starting));
} catch (error) {
  process.stderr.write(`${explain('AgentLens', error)}\n`);
  process.exit(1);
}
