import { hookProblems } from './hook-rules.mjs';
import { labelsOf, nameOf, podOf, selects } from './objects.mjs';

/** The only pod that talks to the API server. */
const MAKES_SECRET = 'make-secret';
/** Services that call addresses chosen by tenants. */
const CALLS_TENANTS = ['action-dispatcher', 'model-gateway', 'query'];
/** Returns rule violations of all workloads and of the set as a whole. `documents` are rendered Kubernetes objects. */
export function kubernetesProblems(documents) {
  return [
    ...documents.filter((one) => podOf(one)).flatMap(workloadProblems),
    ...documents.filter((one) => podOf(one)).flatMap(secretProblems),
    ...referenceProblems(documents),
    ...namespaceProblems(documents),
    ...networkProblems(documents),
    ...hookProblems(documents),
  ];
}

function workloadProblems(document) {
  const problems = [];
  const must = (holds, what) => {
    if (!holds) problems.push(`${nameOf(document)}: ${what}`);
  };
  const pod = podOf(document);
  must(pod.securityContext?.runAsNonRoot === true, 'securityContext.runAsNonRoot must be true');
  must(pod.securityContext?.seccompProfile?.type === 'RuntimeDefault', 'seccompProfile must be RuntimeDefault');
  must(pod.automountServiceAccountToken === false, 'automountServiceAccountToken must be false');
  must(pod.enableServiceLinks === false, 'enableServiceLinks must be false');
  for (const container of [...(pod.initContainers ?? []), ...(pod.containers ?? [])]) {
    for (const { name, value } of container.env ?? [])
      must(!/^\d(\.\d+)?e\+\d+$/.test(value ?? ''), `${name} must be written without an exponent, not ${value}`);
    const security = container.securityContext ?? {};
    const { requests = {}, limits = {} } = container.resources ?? {};
    const at = `container ${container.name}`;
    must(security.allowPrivilegeEscalation === false, `${at}: allowPrivilegeEscalation must be false`);
    must(security.readOnlyRootFilesystem === true, `${at}: readOnlyRootFilesystem must be true`);
    must(security.capabilities?.drop?.includes('ALL'), `${at}: capabilities must drop ALL`);
    must(requests.cpu && requests.memory, `${at}: resources.requests must have cpu and memory`);
    must(limits.cpu && limits.memory, `${at}: resources.limits must have cpu and memory`);
    if (['Job', 'Pod'].includes(document.kind) || pod.initContainers?.includes(container)) continue;
    must(container.readinessProbe, `${at}: readinessProbe is missing`);
    must(container.livenessProbe, `${at}: livenessProbe is missing`);
  }
  return problems;
}

const OF_SERVERS = /_(database|nats)_password$|^(postgres|nats)_password$/;

/** A service has its own logins. Only the migration has those of the owners. */
function secretProblems(document) {
  const { 'app.kubernetes.io/component': component, 'app.kubernetes.io/name': name } = labelsOf(document);
  if (component !== 'service') return [];
  const pod = podOf(document);
  const fromFiles = (pod.volumes ?? []).flatMap(({ projected }) =>
    (projected?.sources ?? []).flatMap(({ secret }) => (secret?.items ?? []).map(({ key }) => key)),
  );
  const inVariables = pod.containers.flatMap(({ env = [], envFrom = [] }) => [
    ...env.filter(({ valueFrom }) => valueFrom?.secretKeyRef),
    ...envFrom.filter(({ secretRef }) => secretRef),
  ]);
  const id = String(name).replaceAll('-', '_');
  const own = (key) =>
    name === 'migrate' ? !key.endsWith('_nats_password') : key.startsWith(`${id}_`) || !OF_SERVERS.test(key);
  return [
    ...fromFiles
      .filter((key) => !own(key))
      .map((key) => `${nameOf(document)}: must not have ${key}, the password of another service`),
    ...(inVariables.length > 0 ? [`${nameOf(document)}: secrets must be files, not variables`] : []),
  ];
}

/** An object in another namespace than its target has no effect, without an error. */
function namespaceProblems(documents) {
  const namespaced = documents.filter(({ kind }) => !['Namespace', 'Kustomization'].includes(kind));
  const [first] = namespaced.map(({ metadata }) => metadata?.namespace).filter((name) => name !== undefined);
  return namespaced
    .filter(({ metadata }) => metadata?.namespace !== first)
    .map(
      (one) =>
        `${nameOf(one)}: is in the namespace ${one.metadata?.namespace ?? 'default'}, the others are in ${first}`,
    );
}

/** Selectors, scale targets and backends that point at nothing are silent in Kubernetes. */
function referenceProblems(documents) {
  const problems = [];
  const named = (kind, name) => documents.some((one) => one.kind === kind && one.metadata?.name === name);
  const workloads = documents.filter((one) => podOf(one));
  const selected = (selector) => workloads.some((one) => selects(selector, labelsOf(one)));
  const budgets = documents.filter(({ kind }) => kind === 'PodDisruptionBudget');
  for (const one of documents) {
    const fail = (what) => problems.push(`${nameOf(one)}: ${what}`);
    const { kind, spec } = one;
    if (kind === 'Service' && !selected({ matchLabels: spec.selector })) fail('selects no pod');
    if (['PodDisruptionBudget', 'NetworkPolicy'].includes(kind)) {
      const selector = kind === 'NetworkPolicy' ? spec.podSelector : spec.selector;
      // The pod of the test is not always there.
      if (!selected(selector) && selector.matchLabels?.['app.kubernetes.io/name'] !== 'test') fail('selects no pod');
    }
    if (['HorizontalPodAutoscaler', 'ScaledObject'].includes(kind)) {
      const { kind: target, name } = spec.scaleTargetRef;
      if (!named(target, name)) fail(`scales ${target}/${name}, which does not exist`);
    }
    if (kind === 'ServiceMonitor') {
      const services = documents.filter((other) => other.kind === 'Service');
      if (!services.some(({ metadata }) => selects(spec.selector, metadata.labels))) fail('selects no Service');
    }
    if (kind === 'Deployment' && budgets.length > 0) {
      if (!budgets.some((budget) => selects(budget.spec.selector, labelsOf(one)))) fail('has no PodDisruptionBudget');
    }
    for (const backend of backendsOf(one)) if (!named('Service', backend)) fail(`backend ${backend} does not exist`);
  }
  return problems;
}

function backendsOf({ kind, spec }) {
  if (kind === 'HTTPRoute') return spec.rules.flatMap(({ backendRefs = [] }) => backendRefs.map(({ name }) => name));
  if (kind !== 'Ingress') return [];
  return (spec.rules ?? []).flatMap(({ http }) => (http?.paths ?? []).map(({ backend }) => backend.service?.name));
}

/** The address of the API server is known to the cluster only, so its ports alone are open, for a pod that soon ends. */
function apiServerProblems(policy) {
  const ports = policy.spec.egress.flatMap((rule) => rule.ports ?? [{}]).map(({ port }) => port);
  const open = ports.filter((port) => ![443, 6443].includes(port));
  return open.length === 0
    ? []
    : [`${nameOf(policy)}: opens more than the ports of the API server: ${open.join(', ')}`];
}

const PRIVATE = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '169.254.0.0/16', '127.0.0.0/8', '100.64.0.0/10'];

/** All traffic is denied by default, and only the dispatcher reaches the internet, without private networks. */
function networkProblems(documents) {
  const policies = documents.filter(({ kind }) => kind === 'NetworkPolicy');
  if (policies.length === 0) return [];
  const denied = (labels) =>
    policies.some(
      ({ spec }) =>
        spec.policyTypes?.length === 2 && !spec.ingress && !spec.egress && selects(spec.podSelector, labels),
    );
  const problems = documents
    .filter((one) => podOf(one) && !denied(labelsOf(one)))
    .map((one) => `${nameOf(one)}: no policy denies all its traffic by default`);
  for (const policy of policies) {
    const blocks = (policy.spec.egress ?? []).flatMap(({ to = [] }) =>
      to.map(({ ipBlock }) => ipBlock).filter(Boolean),
    );
    if ((policy.spec.egress ?? []).some(({ to }) => !to)) problems.push(`${nameOf(policy)}: egress to everywhere`);
    for (const { cidr, except = [] } of blocks.filter(({ cidr }) => Number(cidr.split('/')[1]) < 8)) {
      const name = policy.spec.podSelector.matchLabels?.['app.kubernetes.io/name'];
      if (name === MAKES_SECRET) {
        problems.push(...apiServerProblems(policy));
        continue;
      }
      if (!CALLS_TENANTS.includes(name)) {
        problems.push(`${nameOf(policy)}: only ${CALLS_TENANTS.join(' and ')} may reach ${cidr}`);
      }
      const open = cidr.includes(':') ? [] : PRIVATE.filter((network) => !except.includes(network));
      if (open.length > 0) problems.push(`${nameOf(policy)}: ${cidr} must exclude ${open.join(', ')}`);
    }
  }
  return problems;
}
