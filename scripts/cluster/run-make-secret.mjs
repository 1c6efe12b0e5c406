import { spawn } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Runs the command of the pod here, with its variables and a token of its own service account: the server enforces its rights. */
export async function runMakeSecret({ api, host, port, certificate }, pod) {
  const { namespace } = pod.metadata;
  const [container] = pod.spec.containers;
  const folder = mkdtempSync(join(tmpdir(), 'agentlens-pod-'));
  try {
    const account = `/api/v1/namespaces/${namespace}/serviceaccounts/${pod.spec.serviceAccountName}`;
    const { status } = await api.create(`${account}/token`, {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { expirationSeconds: 600 },
    });
    writeFileSync(join(folder, 'token'), status.token, { mode: 0o600 });
    copyFileSync(certificate, join(folder, 'ca.crt'));
    const env = {
      ...Object.fromEntries(container.env.map(({ name, value = '' }) => [name, value])),
      ACCOUNT_FOLDER: folder,
      KUBERNETES_SERVICE_HOST: host,
      KUBERNETES_SERVICE_PORT: String(port),
    };
    return await run(container.command.slice(1), env);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function run(args, env) {
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const parts = [];
  child.stdout.on('data', (part) => parts.push(part));
  child.stderr.on('data', (part) => parts.push(part));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (status) => resolve({ isSuccess: status === 0, log: Buffer.concat(parts).toString() }));
  });
}
