// Renders deploy/kubernetes/overlays from the Helm chart.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { OVERLAYS, renderOverlay } from './deploy-rules/chart.mjs';
import { findHelm } from './helm.mjs';

const deploy = join(import.meta.dirname, '..', 'deploy');
const helm = findHelm({ build: true });
if (helm === undefined) throw new Error('Helm 3 is missing: install Helm or Go, or name the program in HELM');
for (const overlay of OVERLAYS) {
  const file = join(deploy, 'kubernetes', 'overlays', overlay, 'agentlens.yaml');
  writeFileSync(file, await renderOverlay(helm, join(deploy, 'helm', 'agentlens'), overlay));
  console.log(file);
}
