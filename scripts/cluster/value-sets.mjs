import { parseAllDocuments } from 'yaml';
import { combinations, render } from '../deploy-rules/chart.mjs';

/** Of all combinations, so many are applied: what differs between them is checked without a server. */
const STEP = 29;
const NAMESPACE = 'agentlens';
/** Kinds of other projects, which a bare control plane does not have. */
const FOREIGN = /^(gateway\.networking\.k8s\.io|keda\.sh|monitoring\.coreos\.com)\//;

/** Applies sets of values on the server, without keeping them. Returns problems; warnings of the server are problems, too. */
export async function tryValueSets({ api }, helm, chart) {
  await api.create('/api/v1/namespaces', {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: {
      name: NAMESPACE,
      labels: { 'pod-security.kubernetes.io/enforce': 'restricted', 'pod-security.kubernetes.io/warn': 'restricted' },
    },
  });
  await api.create('/apis/scheduling.k8s.io/v1/priorityclasses', {
    apiVersion: 'scheduling.k8s.io/v1',
    kind: 'PriorityClass',
    metadata: { name: 'high' },
    value: 1000,
  });
  const paths = await resourcePaths(api);
  const sets = combinations().filter((_, index) => index % STEP === 0);
  const problems = [];
  for (const [index, { name, values }] of sets.entries()) {
    const text = await render(helm, chart, { values, upgrade: index % 2 === 1 });
    for (const document of parseAllDocuments(text).map((one) => one.toJS())) {
      if (document === null || FOREIGN.test(document.apiVersion)) continue;
      const at = `${name}: ${document.kind}/${document.metadata.name}`;
      const path = paths.get(`${document.apiVersion} ${document.kind}`);
      try {
        const warnings = await api.tryApply(
          `${path.replace('NAMESPACE', NAMESPACE)}/${document.metadata.name}`,
          document,
        );
        problems.push(...warnings.map((warning) => `${at}: ${warning}`));
      } catch (error) {
        // Server-side apply with dry run knows no account that this very set would make.
        if (!/error looking up service account/.test(error.message)) problems.push(`${at}: ${error.message}`);
      }
    }
  }
  return { problems, count: sets.length };
}

async function resourcePaths(api) {
  const versions = [
    'v1',
    'apps/v1',
    'batch/v1',
    'policy/v1',
    'networking.k8s.io/v1',
    'autoscaling/v2',
    'rbac.authorization.k8s.io/v1',
  ];
  const paths = new Map();
  for (const version of versions) {
    const base = version.includes('/') ? `/apis/${version}` : `/api/${version}`;
    const { resources } = await api.get(base);
    for (const { kind, name, namespaced } of resources) {
      if (name.includes('/')) continue;
      paths.set(`${version} ${kind}`, namespaced ? `${base}/namespaces/NAMESPACE/${name}` : `${base}/${name}`);
    }
  }
  return paths;
}
