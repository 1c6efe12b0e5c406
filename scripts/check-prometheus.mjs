// Checks the alert rules, their tests and the scrape configuration with Prometheus' own promtool: from PATH, or from
// the Debian package unpacked into the cache folder of the tests. Without either it reports that and passes.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { findProgram } from '../libs/testing/src/servers/find-program.ts';

const folder = join(import.meta.dirname, '..', 'deploy', 'prometheus');
const promtool = await findProgram('promtool', 'prometheus').catch(() => undefined);
if (promtool === undefined) {
  console.log('prometheus: skipped, promtool is neither on PATH nor available as a Debian package');
} else {
  ask('check', 'rules', join(folder, 'alerts.yml'));
  ask('test', 'rules', join(folder, 'alerts.test.yml'));
  // The configuration names the rule file by its path in the container.
  ask('check', 'config', '--syntax-only', join(folder, 'prometheus.yml'));
  console.log('prometheus: rules, their tests and configuration are valid');
}

function ask(...args) {
  const { status, stdout, stderr } = spawnSync(promtool.command, args, {
    encoding: 'utf8',
    env: promtool.env,
  });
  if (status === 0) return;
  console.error(`promtool ${args.join(' ')}\n${stdout}${stderr}`);
  process.exit(1);
}
