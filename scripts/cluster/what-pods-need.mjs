/** The Secrets and ConfigMaps, with their keys, without which a kubelet does not start a pod; those that are missing. */
export async function findMissing(api, pod) {
  const missing = [];
  const known = new Map();
  const read = async (kind, name) => {
    const key = `${kind}/${name}`;
    if (!known.has(key)) known.set(key, await load(api, pod.metadata.namespace, kind, name));
    return known.get(key);
  };
  for (const { kind, name, keys, optional } of needed(pod.spec)) {
    if (optional) continue;
    const found = await read(kind, name);
    if (found === undefined) missing.push(`${kind}/${name}`);
    else missing.push(...keys.filter((key) => !found.includes(key)).map((key) => `${kind}/${name}: ${key}`));
  }
  return [...new Set(missing)];
}

async function load(api, namespace, kind, name) {
  const path = `/api/v1/namespaces/${namespace}/${kind === 'Secret' ? 'secrets' : 'configmaps'}/${name}`;
  const { status, text } = await api.send('GET', path, { raw: true });
  return status === 200 ? Object.keys(JSON.parse(text).data ?? {}) : undefined;
}

function needed({ volumes = [], containers, initContainers = [] }) {
  const fromVolumes = volumes.flatMap(({ secret, configMap, projected }) => [
    ...(secret ? [use('Secret', secret.secretName, secret)] : []),
    ...(configMap ? [use('ConfigMap', configMap.name, configMap)] : []),
    ...(projected?.sources ?? []).flatMap((source) => [
      ...(source.secret ? [use('Secret', source.secret.name, source.secret)] : []),
      ...(source.configMap ? [use('ConfigMap', source.configMap.name, source.configMap)] : []),
    ]),
  ]);
  const fromVariables = [...containers, ...initContainers].flatMap(({ env = [], envFrom = [] }) => [
    ...env.flatMap(({ valueFrom = {} }) => [
      ...(valueFrom.secretKeyRef ? [useKey('Secret', valueFrom.secretKeyRef)] : []),
      ...(valueFrom.configMapKeyRef ? [useKey('ConfigMap', valueFrom.configMapKeyRef)] : []),
    ]),
    ...envFrom.flatMap(({ secretRef, configMapRef }) => [
      ...(secretRef ? [use('Secret', secretRef.name, secretRef)] : []),
      ...(configMapRef ? [use('ConfigMap', configMapRef.name, configMapRef)] : []),
    ]),
  ]);
  return [...fromVolumes, ...fromVariables];
}

function use(kind, name, { items = [], optional = false }) {
  return { kind, name, keys: items.map(({ key }) => key), optional };
}

function useKey(kind, { name, key, optional = false }) {
  return { kind, name, keys: [key], optional };
}
