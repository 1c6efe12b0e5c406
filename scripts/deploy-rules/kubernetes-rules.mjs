/** What every workload and the set as a whole must have; `documents` are rendered Kubernetes objects. */
export function kubernetesProblems(documents) {
  return [
    ...documents.filter((one) => podOf(one)).flatMap(workloadProblems),
    ...documents.filter((one) => podOf(one)).flatMap(secretProblems),
    ...referenceProblems(documents),
    ...namespaceProblems(documents),
    ...networkProblems(documents),
  ];
}

function nameOf({ kind, metadata }) {
  return `${kind}/${metadata?.name}`;
}

/** The pod of a Deployment, StatefulSet or Job. */
function podOf({ kind, spec }) {
  return ['Deployment', 'StatefulSet', 'Job'].includes(kind) ? spec?.template?.spec : undefined;
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
    const security = container.securityContext ?? {};
    const { requests = {}, limits = {} } = container.resources ?? {};
    const at = `container ${container.name}`;
    must(security.allowPrivilegeEscalation === false, `${at}: allowPrivilegeEscalation must be false`);
    must(security.readOnlyRootFilesystem === true, `${at}: readOnlyRootFilesystem must be true`);
    must(security.capabilities?.drop?.includes('ALL'), `${at}: capabilities must drop ALL`);
    must(requests.cpu && requests.memory, `${at}: resources.requests must have cpu and memory`);
    must(limits.cpu && limits.memory, `${at}: resources.limits must have cpu and memory`);
    if (document.kind === 'Job') continue;
    must(container.readinessProbe, `${at}: readinessProbe is missing`);
    must(container.livenessProbe, `${at}: livenessProbe is missing`);
  }
  return problems;
}

/** Beside what all services share, a workload is given its own secret and nobody else's: its logins. */
function secretProblems(document) {
  const { name, labels = {} } = document.metadata ?? {};
  if (labels['app.kubernetes.io/component'] !== 'service') return [];
  const given = podOf(document).containers.flatMap(({ envFrom = [] }) =>
    envFrom.map(({ secretRef }) => secretRef?.name),
  );
  const secrets = given.filter((secret) => secret !== undefined);
  const wanted = ['agentlens', `agentlens-${name}`];
  return secrets.join() === wanted.join()
    ? []
    : [`${nameOf(document)}: envFrom must have the secrets ${wanted.join(', ')}`];
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
  const selected = (labels) =>
    workloads.some(({ spec }) =>
      Object.entries(labels ?? {}).every(([key, value]) => spec.template.metadata?.labels?.[key] === value),
    );
  for (const one of documents) {
    const fail = (what) => problems.push(`${nameOf(one)}: ${what}`);
    if (one.kind === 'Service' && !selected(one.spec.selector)) fail('selects no pod');
    if (one.kind === 'PodDisruptionBudget' && !selected(one.spec.selector?.matchLabels)) fail('selects no pod');
    if (one.kind === 'HorizontalPodAutoscaler') {
      const { kind, name } = one.spec.scaleTargetRef;
      if (!named(kind, name)) fail(`scales ${kind}/${name}, which does not exist`);
    }
    if (one.kind === 'Deployment' && !documents.some((other) => disruptionOf(other, one)))
      fail('has no PodDisruptionBudget');
    for (const backend of backendsOf(one)) if (!named('Service', backend)) fail(`backend ${backend} does not exist`);
  }
  return problems;
}

function disruptionOf(candidate, deployment) {
  if (candidate.kind !== 'PodDisruptionBudget') return false;
  const labels = deployment.spec.template.metadata?.labels ?? {};
  return Object.entries(candidate.spec.selector?.matchLabels ?? {}).every(([key, value]) => labels[key] === value);
}

function backendsOf({ kind, spec }) {
  if (kind !== 'Ingress') return [];
  return (spec.rules ?? []).flatMap(({ http }) => (http?.paths ?? []).map(({ backend }) => backend.service?.name));
}

const PRIVATE = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '169.254.0.0/16', '127.0.0.0/8', '100.64.0.0/10'];

/** Everything is denied first, and only the dispatcher reaches the internet, never what is private. */
function networkProblems(documents) {
  const policies = documents.filter(({ kind }) => kind === 'NetworkPolicy');
  const denies = ({ spec }) =>
    Object.keys(spec.podSelector).length === 0 && spec.policyTypes?.length === 2 && !spec.ingress && !spec.egress;
  const problems = policies.some(denies) ? [] : ['NetworkPolicy: nothing denies all traffic by default'];
  for (const policy of policies) {
    const blocks = (policy.spec.egress ?? []).flatMap(({ to = [] }) =>
      to.map(({ ipBlock }) => ipBlock).filter(Boolean),
    );
    if ((policy.spec.egress ?? []).some(({ to }) => !to)) problems.push(`${nameOf(policy)}: egress to everywhere`);
    for (const { cidr, except = [] } of blocks.filter(({ cidr }) => Number(cidr.split('/')[1]) < 8)) {
      if (policy.spec.podSelector.matchLabels?.['app.kubernetes.io/name'] !== 'action-dispatcher') {
        problems.push(`${nameOf(policy)}: only action-dispatcher may reach ${cidr}`);
      }
      const open = cidr.includes(':') ? [] : PRIVATE.filter((network) => !except.includes(network));
      if (open.length > 0) problems.push(`${nameOf(policy)}: ${cidr} must leave out ${open.join(', ')}`);
    }
  }
  return problems;
}
