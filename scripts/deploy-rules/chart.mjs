import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Kubernetes versions whose schemas every object must match: the oldest supported one to the newest. */
export const KUBERNETES_VERSIONS = ['1.29', '1.33', '1.37'];

/** The overlays are the chart with these values, for `kubectl apply`. */
export const OVERLAYS = ['small', 'production'];
const FOR_KUBECTL = { namePrefix: '', migration: { kind: 'job' }, secrets: { existing: 'agentlens' } };

export const REGISTRY = { image: { registry: 'registry.example.com/agentlens' } };

const OUTSIDE = {
  postgres: { bundled: false, host: 'postgres.example.com', parameters: 'sslmode=verify-full' },
  nats: { bundled: false, urls: ['tls://nats-1.example.com:4222', 'tls://nats-2.example.com:4222'] },
  redis: { bundled: false, url: 'rediss://redis.example.com:6379/0', password: false },
  networkPolicy: { servers: ['10.20.0.0/16', 'fd00::/8'], webhooks: ['10.30.0.0/16'] },
};
const GATEWAY = {
  enabled: true,
  parentRefs: [{ name: 'public', namespace: 'gateways' }],
  hostnames: ['a.example.com'],
};
/** A sidecar, as the proxies of clouds for their Postgres are run. */
const SIDECAR = {
  name: 'postgres-proxy',
  image: 'proxy.example.com/postgres-proxy:1',
  restartPolicy: 'Always',
  resources: { requests: { cpu: '50m', memory: '32Mi' }, limits: { cpu: '1', memory: '64Mi' } },
  securityContext: {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  },
};

const EVERYTHING_ELSE = {
  publicUrl: 'https://a.example.com',
  settings: {
    AGENTLENS_RETENTION_DAYS: 30,
    AGENTLENS_LOG_LEVEL: 'warn',
    AGENTLENS_HTTP_BODY_LIMIT_BYTES: 10_485_760,
  },
  extraEnv: [{ name: 'TZ', value: 'UTC' }],
  extraVolumes: [{ name: 'extra', emptyDir: {} }],
  extraVolumeMounts: [{ name: 'extra', mountPath: '/extra' }],
  certificates: { configMap: 'our-certificates' },
  otlpEndpoint: 'http://otel-collector.monitoring:4318',
  image: { pullSecrets: [{ name: 'registry' }], digests: { query: `sha256:${'0'.repeat(64)}` } },
  podAnnotations: { team: 'platform' },
  nodeSelector: { 'kubernetes.io/os': 'linux' },
  tolerations: [{ key: 'dedicated', operator: 'Exists' }],
  priorityClassName: 'high',
  dnsConfig: { options: [{ name: 'ndots', value: '2' }] },
  podLabels: { 'cost-center': '7' },
  edge: {
    service: { type: 'LoadBalancer', annotations: { a: 'b' } },
    tolerations: [{ key: 'edge', operator: 'Exists' }],
    env: [{ name: 'TZ', value: 'UTC' }],
  },
  networkPolicy: { from: [{ ipBlock: { cidr: '203.0.113.0/24' } }] },
  services: {
    query: {
      env: [{ name: 'NODE_OPTIONS', value: '--use-openssl-ca' }],
      envFrom: [{ configMapRef: { name: 'more-settings' } }],
      nodeSelector: { 'node.kubernetes.io/instance-type': 'large' },
      affinity: { nodeAffinity: {} },
      podLabels: { tier: 'web' },
      podAnnotations: { team: 'console' },
      serviceAccount: { annotations: { 'eks.amazonaws.com/role-arn': 'arn:aws:iam::1:role/query' } },
      topologySpread: [{ maxSkew: 2, topologyKey: 'kubernetes.io/hostname', whenUnsatisfiable: 'DoNotSchedule' }],
      resources: { limits: { cpu: 1, memory: '1Gi' } },
      hostAliases: [{ ip: '192.0.2.1', hostnames: ['idp.example.com'] }],
      initContainers: [SIDECAR],
    },
    ingest: { serviceAccount: { name: 'ours' } },
  },
  serviceAccount: { annotations: { owner: 'platform' } },
  migration: { env: [{ name: 'LC_ALL', value: 'C' }], serviceAccount: { annotations: { a: 'b' } } },
  extraObjects: [
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'more-settings', namespace: 'agentlens' }, data: {} },
  ],
  postgres: { storage: { className: 'fast', size: 53_687_091_200 }, env: [{ name: 'TZ', value: 'UTC' }] },
  redis: { env: [{ name: 'TZ', value: 'UTC' }] },
  nats: { env: [{ name: 'TZ', value: 'UTC' }] },
  metrics: {
    serviceMonitor: { enabled: true, labels: { release: 'prometheus' } },
    prometheusRule: { enabled: true, labels: { release: 'prometheus' } },
    dashboard: { enabled: true },
  },
};

/** A bundled Postgres with enough connections for all replicas. */
const ROOM = { postgres: { maxConnections: 1000 } };

/** Every combination of one entry of each row is rendered. */
const TABLE = {
  servers: { bundled: {}, 'one NATS': { nats: { replicas: 1 } }, outside: OUTSIDE },
  route: {
    none: {},
    ingress: {
      ingress: {
        enabled: true,
        className: 'nginx',
        tlsSecret: 'tls',
        hosts: [{ host: 'b.example.com' }, { host: 'c.example.com', tlsSecret: 'tls-c' }],
      },
    },
    gateway: { gateway: GATEWAY },
    'gateway without edge': { gateway: GATEWAY, edge: { enabled: false } },
  },
  scaling: {
    fixed: {},
    hpa: { autoscaling: { kind: 'hpa', maxReplicas: 4 }, ...ROOM },
    'hpa on lag': { autoscaling: { kind: 'hpa', lag: { enabled: true } }, ...ROOM },
    keda: {
      autoscaling: { kind: 'keda', lag: { enabled: true, prometheus: 'http://prometheus.monitoring:9090' } },
      ...ROOM,
    },
  },
  secrets: {
    generated: {},
    existing: { secrets: { existing: 'ours', refs: { postgres_password: { name: 'pg-app', key: 'password' } } } },
    'with first keys': { secrets: { existing: 'ours', firstKeys: true }, migration: { kind: 'job' }, namePrefix: '' },
  },
  rest: {
    default: {},
    everything: EVERYTHING_ELSE,
    little: {
      networkPolicy: { enabled: false },
      podDisruptionBudget: { enabled: false },
      metrics: { annotations: false },
    },
  },
};

function merged(a, b) {
  const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
  const result = { ...a };
  for (const [key, value] of Object.entries(b)) {
    result[key] = isObject(value) && isObject(result[key]) ? merged(result[key], value) : value;
  }
  return result;
}

/** Values that the chart must refuse, each with a part of the message. */
export const WRONG_VALUES = [
  [{ image: { registry: '' } }, 'image.registry is required'],
  [{ imgae: {} }, 'imgae'],
  [{ services: { query: { replicas: 0 } } }, 'replicas'],
  [{ nats: { replicas: 2 } }, 'replicas'],
  [{ nats: { bundled: false }, networkPolicy: { servers: ['10.0.0.0/8'] } }, 'nats.urls is required'],
  [{ redis: { bundled: false, url: 'redis://:password@redis:6379' } }, 'url'],
  [{ postgres: { bundled: false, host: 'db' } }, 'networkPolicy.servers must list'],
  [{ ingress: { enabled: true }, edge: { enabled: false } }, 'ingress.enabled needs edge.enabled'],
  [{ gateway: { enabled: true } }, 'gateway.parentRefs must name'],
  [{ autoscaling: { kind: 'keda', lag: { enabled: true } } }, 'autoscaling.lag.prometheus is required'],
  [{ settings: { AGENTLENS_SECRET_KEY: 'x' } }, 'belongs in a Secret'],
  [{ secrets: { firstKeys: true } }, 'existing'],
  [{ migration: { kind: 'job' } }, 'needs secrets.existing'],
  [
    { publicUrl: 'https://a', settings: { AGENTLENS_PUBLIC_URL: 'https://b' } },
    'by publicUrl and by settings.AGENTLENS_PUBLIC_URL',
  ],
  [{ extraEnv: [{ name: 'DATABASE_URL', value: 'x' }] }, 'by the chart and by extraEnv'],
  [{ extraEnv: [{ name: 'A', value: '' }], services: { query: { env: [{ name: 'A' }] } } }, 'services.query.env'],
  [{ postgres: { port: 6432 } }, 'the bundled Postgres listens on 5432'],
  [{ edge: { service: { type: 'LoadBalancer' } } }, 'networkPolicy.from admits no network'],
  [{ autoscaling: { kind: 'hpa' } }, '84 pods of services can open 850 connections'],
  [{ podLabels: { 'app.kubernetes.io/name': 'x' } }, "invalid propertyName 'app.kubernetes.io/name'"],
];

/** All combinations, each with a name. */
export function combinations() {
  let all = [{ name: '', values: REGISTRY }];
  for (const [row, entries] of Object.entries(TABLE)) {
    all = all.flatMap(({ name, values }) =>
      Object.entries(entries).map(([entry, more]) => ({
        name: `${name}${name && ', '}${row}: ${entry}`,
        values: merged(values, more),
      })),
    );
  }
  return all;
}

/** Renders the chart. `files` are values files of the chart. Returns the YAML, or throws what Helm said. */
export function render(helm, chart, options = {}) {
  const { release = 'agentlens', values = {}, files = [], upgrade = false, version = '1.34' } = options;
  const args = ['template', release, chart, '--namespace', 'agentlens', '--kube-version', `${version}.0`];
  for (const file of files) args.push('--values', join(chart, file));
  if (upgrade) args.push('--is-upgrade');
  const child = spawn(helm, [...args, '--values', '-'], { stdio: ['pipe', 'pipe', 'pipe'] });
  const [out, err] = [[], []];
  child.stdout.on('data', (part) => out.push(part));
  child.stderr.on('data', (part) => err.push(part));
  child.stdin.end(JSON.stringify(values));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (status) => {
      if (status === 0) resolve(Buffer.concat(out).toString());
      else
        reject(
          new Error(
            Buffer.concat(err)
              .toString()
              .replaceAll(/^.*symbolic link.*\n/gm, '')
              .trim(),
          ),
        );
    });
  });
}

/** The objects of an overlay, without the pod of `helm test`, which is a hook. */
export async function renderOverlay(helm, chart, overlay) {
  const text = await render(helm, chart, { files: [`values-${overlay}.yaml`], values: FOR_KUBECTL });
  const parts = text.split(/^---\n/m).filter((part) => /\S/.test(part) && !/helm\.sh\/hook: test/.test(part));
  const head = `# Rendered from deploy/helm/agentlens with values-${overlay}.yaml by scripts/render-kubernetes.mjs. Do not edit.\n`;
  return `${head}---\n${parts.map((part) => part.replace(/^# Source: .*\n/m, '')).join('---\n')}`;
}

/** The version that the chart and the manifest of the workspace must share. */
export function versions(root) {
  const chart = readFileSync(join(root, 'deploy/helm/agentlens/Chart.yaml'), 'utf8');
  const of = (field) => new RegExp(`^${field}: (.+)$`, 'm').exec(chart)?.[1];
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  return { chart: of('version'), app: of('appVersion'), workspace: version };
}
