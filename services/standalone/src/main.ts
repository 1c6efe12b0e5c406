import { explain, loadConfig, shutDownOnSignal } from '@agentlens/platform';
import { banner } from './banner.ts';
import { startStandalone } from './start-standalone.ts';

try {
  const starting = startStandalone(loadConfig('standalone'));
  // Installed before starting: a Ctrl-C during the start must not leave the database running.
  shutDownOnSignal(
    async () => (await starting).stop(),
    () => process.stdout.write('\nFinishing accepted work, then stopping.\n'),
  );
  process.stdout.write(banner(await starting));
} catch (error) {
  process.stderr.write(`${explain('AgentLens', error)}\n`);
  process.exit(1);
}
