// Renders deploy/kubernetes/overlays and the table of values from the Helm chart.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { OVERLAYS, renderOverlay } from './deploy-rules/chart.mjs';
import { renderValuesTable } from './deploy-rules/values-table.mjs';
import { needTool } from './go-tools.mjs';

const deploy = join(import.meta.dirname, '..', 'deploy');
const helm = needTool('helm');
for (const overlay of OVERLAYS) {
  const file = join(deploy, 'kubernetes', 'overlays', overlay, 'agentlens.yaml');
  writeFileSync(file, await renderOverlay(helm, join(deploy, 'helm', 'agentlens'), overlay));
  console.log(file);
}
const folder = join(deploy, 'helm', 'agentlens');
const table = join(folder, 'VALUES.md');
writeFileSync(table, renderValuesTable(readFileSync(join(folder, 'values.yaml'), 'utf8')));
console.log(table);
