export function nameOf({ kind, metadata }) {
  return `${kind}/${metadata?.name}`;
}

/** The pod of a workload, with metadata and spec. */
function templateOf(document) {
  if (document.kind === 'Pod') return document;
  return ['Deployment', 'StatefulSet', 'Job'].includes(document.kind) ? document.spec?.template : undefined;
}

export function podOf(document) {
  return templateOf(document)?.spec;
}

export function labelsOf(document) {
  return templateOf(document)?.metadata?.labels ?? {};
}

/** Whether a selector selects a pod with these labels. */
export function selects({ matchLabels = {}, matchExpressions = [] } = {}, labels) {
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, values }) => values.includes(labels[key]))
  );
}
