// Checks the Kubernetes manifests without a cluster: renders every overlay (kubectl kustomize, which works offline),
// validates every object against its schema, rejects unknown fields, and applies the project's own rules. Without
// kubectl, checks the unpatched files.
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { kubernetesProblems } from './deploy-rules/kubernetes-rules.mjs';
import { report } from './deploy-rules/report.mjs';
import { unknownFields } from './deploy-rules/unknown-fields.mjs';

const root = join(import.meta.dirname, '..');
const folder = process.argv[2] ?? join(root, 'deploy', 'kubernetes');
const overlays = readdirSync(join(folder, 'overlays'));
const hasKubectl = spawnSync('kubectl', ['version', '--client'], { stdio: 'ignore' }).status === 0;

function parsed(text, where) {
  return parseAllDocuments(text).map((document) => {
    if (document.errors.length > 0) throw new Error(`${where}: ${document.errors[0].message}`);
    return document.toJS();
  });
}

function rendered(overlay) {
  const run = spawnSync('kubectl', ['kustomize', join(folder, 'overlays', overlay)], { encoding: 'utf8' });
  if (run.status !== 0) throw new Error(`overlays/${overlay}: ${run.stderr.trim()}`);
  return parsed(run.stdout, overlay);
}

/** Base and overlay without patches, which is enough for schemas and most rules. */
function unpatched(overlay) {
  return [join(folder, 'base'), join(folder, 'overlays', overlay)].flatMap((place) =>
    readdirSync(place)
      .filter((file) => file.endsWith('.yaml') && file !== 'kustomization.yaml')
      .flatMap((file) => parsed(readFileSync(join(place, file), 'utf8'), file)),
  );
}

async function schemaProblems(document) {
  const where = `${document.kind}/${document.metadata?.name}`;
  const models = await import(`kubernetes-models/${document.apiVersion}`).catch(() => ({}));
  const Model = models[document.kind];
  if (!Model) return [`${where}: unknown kind ${document.apiVersion} ${document.kind}`];
  try {
    new Model(document).validate();
    return [];
  } catch (error) {
    return [`${where}: ${error instanceof Error ? error.message : String(error)}`];
  }
}

async function overlayProblems(overlay) {
  try {
    const documents = hasKubectl ? rendered(overlay) : unpatched(overlay);
    objects += documents.length;
    const schema = await Promise.all(documents.map(schemaProblems));
    const problems = [...schema.flat(), ...unknownFields(root, documents), ...kubernetesProblems(documents)];
    return problems.map((problem) => `overlays/${overlay}: ${problem}`);
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
}

let objects = 0;
const problems = [];
for (const overlay of overlays) problems.push(...(await overlayProblems(overlay)));
const how = hasKubectl ? 'rendered with kubectl kustomize' : 'without patches, because kubectl is not installed';
report('deploy/kubernetes', problems, `${objects} objects of ${overlays.join(', ')} are valid (${how})`);
