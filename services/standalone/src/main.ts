import { explain, loadConfig, shutDownOnSignal } from '@agentlens/platform';
import { banner } from './banner.ts';
import { startStandalone } from './start-standalone.ts';

try {
  const standalone = await startStandalone(loadConfig('standalone'));
  shutDownOnSignal(
    () => standalone.stop(),
    () => process.stdout.write('\nFinishing what was taken, then stopping.\n'),
  );
  process.stdout.write(banner(standalone));
} catch (error) {
  process.stderr.write(`${explain('AgentLens', error)}\n`);
  process.exit(1);
}
