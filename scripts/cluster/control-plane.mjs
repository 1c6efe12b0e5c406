import { spawn } from 'node:child_process';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { createWriteStream, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApi } from './api.mjs';
import { poll } from './poll.mjs';

const HOST = '127.0.0.1';
const START_TIMEOUT_MS = 90_000;
const STOP_TIMEOUT_MS = 10_000;

/**
 * Starts etcd, API server, controller manager and scheduler in a temporary folder. Pods start only with a stand-in for
 * kubelets (node.mjs). Returns the API, a kubeconfig for Helm, and `stop`.
 */
export async function startControlPlane(binaries) {
  const folder = mkdtempSync(join(tmpdir(), 'agentlens-cluster-'));
  const children = [];
  const start = (program, args) => {
    const child = spawn(join(binaries, program), args, { stdio: ['ignore', 'pipe', 'pipe'], cwd: folder });
    const log = createWriteStream(join(folder, `${program}.log`));
    child.stdout.pipe(log);
    child.stderr.pipe(log);
    children.push(child);
    return child;
  };
  const stop = async () => {
    for (const child of children.toReversed()) await end(child);
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const [client, peer, secure, managerPort, schedulerPort] = await freePorts(5);
    const token = randomBytes(24).toString('hex');
    const certificates = join(folder, 'certificates');
    const files = writeAccountKeys(folder, token);
    start('etcd', [
      `--data-dir=${join(folder, 'etcd')}`,
      `--listen-client-urls=http://${HOST}:${client}`,
      `--advertise-client-urls=http://${HOST}:${client}`,
      `--listen-peer-urls=http://${HOST}:${peer}`,
      `--initial-advertise-peer-urls=http://${HOST}:${peer}`,
      `--initial-cluster=default=http://${HOST}:${peer}`,
      // The data lives as long as this run.
      '--unsafe-no-fsync',
    ]);
    start('kube-apiserver', [
      `--etcd-servers=http://${HOST}:${client}`,
      `--bind-address=${HOST}`,
      `--secure-port=${secure}`,
      `--cert-dir=${certificates}`,
      '--service-cluster-ip-range=10.96.0.0/16',
      '--service-account-issuer=https://kubernetes.default.svc',
      `--service-account-key-file=${files.publicKey}`,
      `--service-account-signing-key-file=${files.privateKey}`,
      `--token-auth-file=${files.tokens}`,
      '--authorization-mode=RBAC',
      '--endpoint-reconciler-type=none',
      '--profiling=false',
    ]);
    const certificate = join(certificates, 'apiserver.crt');
    const api = createApi({ host: HOST, port: secure, token, readCa: () => readFileSync(certificate) });
    await poll(
      'the API server',
      async () => (await api.get('/readyz', { raw: true })).status === 200,
      START_TIMEOUT_MS,
    );
    const kubeconfig = writeKubeconfig(folder, { url: `https://${HOST}:${secure}`, certificate, token });
    start('kube-controller-manager', [
      `--kubeconfig=${kubeconfig}`,
      `--secure-port=${managerPort}`,
      `--cert-dir=${join(folder, 'manager')}`,
      '--leader-elect=false',
      '--use-service-account-credentials=false',
      `--service-account-private-key-file=${files.privateKey}`,
      `--root-ca-file=${certificate}`,
      '--kube-api-qps=200',
      '--kube-api-burst=400',
      // The stand-in for kubelets renews no leases.
      '--controllers=*,-node-lifecycle-controller,-node-ipam-controller,-cloud-node-lifecycle-controller',
    ]);
    start('kube-scheduler', [
      `--kubeconfig=${kubeconfig}`,
      `--secure-port=${schedulerPort}`,
      `--cert-dir=${join(folder, 'scheduler')}`,
      '--leader-elect=false',
      '--kube-api-qps=200',
      '--kube-api-burst=400',
    ]);
    await poll(
      'the controller manager',
      () => api.exists('/api/v1/namespaces/default/serviceaccounts/default'),
      START_TIMEOUT_MS,
    );
    return { api, kubeconfig, certificate, host: HOST, port: secure, folder, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function writeAccountKeys(folder, token) {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const files = {
    privateKey: join(folder, 'accounts.key'),
    publicKey: join(folder, 'accounts.pub'),
    tokens: join(folder, 'tokens.csv'),
  };
  writeFileSync(files.privateKey, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  writeFileSync(files.publicKey, publicKey.export({ type: 'spki', format: 'pem' }));
  writeFileSync(files.tokens, `${token},admin,admin,system:masters\n`, { mode: 0o600 });
  return files;
}

function writeKubeconfig(folder, { url, certificate, token }) {
  const file = join(folder, 'kubeconfig');
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster: { server: url, 'certificate-authority': certificate } }],
    users: [{ name: 'admin', user: { token } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'admin' } }],
    'current-context': 'test',
  };
  mkdirSync(folder, { recursive: true });
  writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
  return file;
}

async function freePorts(count) {
  const servers = await Promise.all(
    Array.from(
      { length: count },
      () =>
        new Promise((resolve) => {
          const server = createServer().listen(0, HOST, () => resolve(server));
        }),
    ),
  );
  const ports = servers.map((server) => server.address().port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

function end(child) {
  if (child.exitCode !== null || child.signalCode !== null) return undefined;
  return new Promise((resolve) => {
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
    child.once('exit', () => {
      clearTimeout(timer);
      resolve();
    });
    child.kill('SIGTERM');
  });
}
