// Checks the Kubernetes objects without a cluster: the overlays, and the Helm chart with every combination of a table of
// values. Each object must match the schemas of several Kubernetes versions, have no unknown field, and obey the project's
// own rules. Without Helm or Python, only the overlays are checked, with one version; --required makes that a failure.
//   node scripts/check-kubernetes.mjs [FOLDER] [--required]       FOLDER: another one than deploy/kubernetes
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { parseAllDocuments } from 'yaml';
import { load } from '../tools/load.mjs';
import {
  combinations,
  KUBERNETES_VERSIONS,
  OVERLAYS,
  REGISTRY,
  render,
  renderOverlay,
  versions,
  WRONG_VALUES,
} from './deploy-rules/chart.mjs';
import { kubernetesProblems } from './deploy-rules/kubernetes-rules.mjs';
import { report } from './deploy-rules/report.mjs';
import { unknownFields } from './deploy-rules/unknown-fields.mjs';
import { renderValuesTable } from './deploy-rules/values-table.mjs';
import { findTool } from './go-tools.mjs';
import { environmentsOf, findPython } from './python-environments.mjs';
import { tools } from './tools.mjs';

const root = join(import.meta.dirname, '..');
const home = tools().folder;
const chart = join(root, 'deploy', 'helm', 'agentlens');
const MAX_RELEASE_CHARS = 43;
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { required: { type: 'boolean', default: false } },
});
const folder = positionals[0] ?? join(root, 'deploy', 'kubernetes');
const RENDERS_AT_ONCE = 3;
/** Kinds of other projects, which the schemas of Kubernetes do not have. */
const EXTENSIONS = {
  'gateway.networking.k8s.io/v1': '@kubernetes-models/gateway-api',
  'keda.sh/v1alpha1': '@kubernetes-models/keda',
  'monitoring.coreos.com/v1': '@kubernetes-models/prometheus-operator',
};

/** Distinct objects of everything that was rendered, each with the place where it appeared first. */
const objects = new Map();
const problems = [];
const checked = [];

function parsed(text, where) {
  return parseAllDocuments(text)
    .filter((document) => document.contents !== null)
    .map((document) => {
      if (document.errors.length > 0) throw new Error(`${where}: ${document.errors[0].message}`);
      return document.toJS();
    });
}

function check(text, where) {
  const documents = parsed(text, where);
  for (const document of documents) {
    const key = JSON.stringify(document);
    if (!objects.has(key)) objects.set(key, { document, where });
  }
  problems.push(...kubernetesProblems(documents).map((problem) => `${where}: ${problem}`));
}

async function schemaProblems({ document, where }) {
  const { apiVersion, kind, metadata } = document;
  const at = `${where}: ${kind}/${metadata?.name}`;
  const models = await load(modelsOf(apiVersion)).catch(() => ({}));
  const Model = models[kind];
  if (!Model) return [`${at}: unknown kind ${apiVersion} ${kind}`];
  try {
    new Model(document).validate();
    return [];
  } catch (error) {
    return [`${at}: ${error instanceof Error ? error.message : String(error)}`];
  }
}

function modelsOf(apiVersion) {
  return `${EXTENSIONS[apiVersion] ?? 'kubernetes-models'}/${apiVersion}`;
}

/** The schemas of all versions, in which a field that a version does not know is an error. */
function versionProblems(python) {
  const core = [...objects.values()].filter(({ document }) => EXTENSIONS[document.apiVersion] === undefined);
  const script = join(import.meta.dirname, 'deploy-rules', 'kubernetes', 'validate.py');
  const input = core.map(({ document, where }) => JSON.stringify({ document, where })).join('\n');
  const run = spawnSync(python, [script, ...KUBERNETES_VERSIONS], { input, encoding: 'utf8', maxBuffer: 2 ** 26 });
  if (run.status === 0) checked.push(`in Kubernetes ${KUBERNETES_VERSIONS.join(', ')}`);
  return run.status === 0 ? [] : (run.stdout || run.stderr).trim().split('\n');
}

function tableProblems() {
  const table = renderValuesTable(readFileSync(join(chart, 'values.yaml'), 'utf8'));
  if (table !== readFileSync(join(chart, 'VALUES.md'), 'utf8')) {
    problems.push('VALUES.md is out of date: node scripts/render-kubernetes.mjs');
  }
}

async function overlayProblems(helm) {
  for (const overlay of OVERLAYS) {
    const text = readFileSync(join(folder, 'overlays', overlay, 'agentlens.yaml'), 'utf8');
    check(text, `overlays/${overlay}`);
    if (helm !== undefined && text !== (await renderOverlay(helm, chart, overlay))) {
      problems.push(`overlays/${overlay} is out of date: node scripts/render-kubernetes.mjs`);
    }
  }
  checked.push(`the overlays ${OVERLAYS.join(', ')}`);
}

async function chartProblems(helm) {
  const { chart: ofChart, app, workspace } = versions(root);
  if (ofChart !== workspace || app !== workspace) problems.push(`Chart.yaml: both versions must be ${workspace}`);
  const queue = combinations();
  checked.push(`${queue.length} combinations of the chart's values`);
  const work = async () => {
    for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
      const { name, values } = next;
      try {
        check(await render(helm, chart, { values, upgrade: queue.length % 2 === 0 }), name);
      } catch (error) {
        problems.push(`${name}: ${error.message}`);
      }
    }
  };
  await Promise.all(Array.from({ length: RENDERS_AT_ONCE }, work));
  // The longest name whose objects Kubernetes accepts, and one more.
  const release = 'r'.repeat(MAX_RELEASE_CHARS);
  check(await render(helm, chart, { release, values: REGISTRY }), 'a long release name');
  const tooLong = { release: `${release}r`, values: REGISTRY };
  const answer = await render(helm, chart, tooLong).catch((error) => error.message);
  if (!answer.includes('Use a shorter release name or set namePrefix'))
    problems.push(`a release name of ${MAX_RELEASE_CHARS + 1} characters must be refused: ${answer.slice(0, 200)}`);
  for (const [values, message] of WRONG_VALUES) {
    const said = await render(helm, chart, { values: { ...REGISTRY, ...values } }).catch((error) => error.message);
    if (!said.includes(message) || said.includes('kind: Deployment')) {
      problems.push(`${JSON.stringify(values)} must be refused with ${JSON.stringify(message)}`);
    }
  }
}

function need(found, what) {
  if (found === undefined && options.required) problems.push(`${what} is missing`);
  if (found === undefined) checked.push(`without ${what}`);
  return found;
}

function pythonWithSchemas() {
  const python = findPython();
  if (python === undefined || !options.required) return undefined;
  const pins = join(import.meta.dirname, 'deploy-rules', 'kubernetes', 'schemas.txt');
  return environmentsOf(python, [pins])?.[0];
}

try {
  const helm = need(positionals.length === 0 ? findTool('helm', { build: options.required }) : undefined, 'Helm');
  tableProblems();
  await overlayProblems(helm);
  if (helm !== undefined) await chartProblems(helm);
  for (const object of objects.values()) problems.push(...(await schemaProblems(object)));
  problems.push(
    ...unknownFields(
      home,
      [...objects.values()].map(({ document }) => document),
      modelsOf,
    ),
  );
  const python = need(pythonWithSchemas(), 'the schemas of several versions');
  if (python !== undefined) problems.push(...versionProblems(python));
} catch (error) {
  problems.push(error instanceof Error ? error.message : String(error));
}
report('Kubernetes objects', [...new Set(problems)], `${objects.size} are valid: ${checked.join(', ')}`);
