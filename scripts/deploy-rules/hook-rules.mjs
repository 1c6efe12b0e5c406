import { labelsOf, nameOf, podOf, selects } from './objects.mjs';

/** Hooks of Helm run before anything else of a revision is there, so they must bring what they need, and in time. */
export function hookProblems(documents) {
  return [
    ...documents.filter(({ kind }) => kind === 'Secret').map(revisionProblem),
    ...documents.filter((one) => isHook(one) && podOf(one)).flatMap((hook) => orderProblems(hook, documents)),
  ];
}

function revisionProblem(secret) {
  return `${nameOf(secret)}: is part of a revision, so a rollback puts its old content back`;
}

function orderProblems(hook, documents) {
  const needed = documents.filter((one) => needs(hook, one) && !(isHook(one) && weightOf(one) < weightOf(hook)));
  const problems = needed.map((one) => `${nameOf(hook)}: runs before ${nameOf(one)}, which it needs, is there`);
  const hasPolicies = documents.some(({ kind }) => kind === 'NetworkPolicy');
  const mayConnect = documents.some((one) => opensNetwork(one, hook) && isHook(one) && weightOf(one) < weightOf(hook));
  if (hasPolicies && !mayConnect) problems.push(`${nameOf(hook)}: no hook before it opens the network to it`);
  return problems;
}

/** Hooks that run before an installation or an upgrade; `helm test` runs when everything is there. */
function isHook({ metadata }) {
  return /pre-(install|upgrade)/.test(metadata?.annotations?.['helm.sh/hook'] ?? '');
}

function weightOf({ metadata }) {
  return Number(metadata?.annotations?.['helm.sh/hook-weight'] ?? 0);
}

function opensNetwork({ kind, spec }, hook) {
  return kind === 'NetworkPolicy' && spec.egress !== undefined && selects(spec.podSelector, labelsOf(hook));
}

function needs(hook, { kind, metadata, subjects }) {
  const pod = podOf(hook);
  const isIt = (name) => name === metadata.name;
  if (kind === 'ServiceAccount') return isIt(pod.serviceAccountName);
  if (kind === 'RoleBinding') return subjects.some(({ name }) => name === pod.serviceAccountName);
  const sources = (pod.volumes ?? []).flatMap((volume) => [volume, ...(volume.projected?.sources ?? [])]);
  if (kind === 'ConfigMap') return sources.some(({ configMap }) => isIt(configMap?.name));
  return false;
}
