// Runs the Helm chart on a real control plane (etcd, API server, controller manager, scheduler) with a stand-in for kubelets:
// sets of values, the life of a release, upgrades from earlier charts, and what goes wrong. No container runs.
//   node scripts/check-cluster.mjs [--build] [TITLE]      --build: builds the control plane if it is missing (15 minutes)
// Without the programs it says so and exits with 0; --required makes that a failure. TITLE: only what contains it.
import { parseArgs } from 'node:util';
import { findBinaries } from './cluster/binaries.mjs';
import { runSuite } from './cluster/suite.mjs';
import { report } from './deploy-rules/report.mjs';
import { findTool } from './go-tools.mjs';

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { build: { type: 'boolean', default: false }, required: { type: 'boolean', default: false } },
});
const binaries = findBinaries({ build: options.build });
const helm = findTool('helm', { build: options.build });
if (binaries === undefined || helm === undefined) {
  const what =
    binaries === undefined ? 'the control plane is not built: node scripts/cluster/binaries.mjs' : 'Helm is missing';
  if (options.required) report('Chart on a control plane', [what]);
  else console.log(`Chart on a control plane: not run, ${what}`);
} else {
  const { problems, done } = await runSuite({ binaries, helm, only: positionals[0] ?? '' });
  report('Chart on a control plane', problems, `${done.length} cases pass`);
}
