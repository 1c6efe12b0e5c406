// Renders deploy/kubernetes/overlays from the Helm chart.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { OVERLAYS, renderOverlay } from './deploy-rules/chart.mjs';
import { needTool } from './go-tools.mjs';

const deploy = join(import.meta.dirname, '..', 'deploy');
const helm = needTool('helm');
for (const overlay of OVERLAYS) {
  const file = join(deploy, 'kubernetes', 'overlays', overlay, 'agentlens.yaml');
  writeFileSync(file, await renderOverlay(helm, join(deploy, 'helm', 'agentlens'), overlay));
  console.log(file);
}
