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
  edge: { service: { type: 'LoadBalancer', annotations: { a: 'b' } } },
  postgres: { storage: { className: 'fast' } },
  metrics: {
    serviceMonitor: { enabled: true, labels: { release: 'prometheus' } },
    prometheusRule: { enabled: true, labels: { release: 'prometheus' } },
    dashboard: { enabled: true },
  },
};

/** Every combination of one entry of each row is rendered. */
const TABLE = {
  servers: { bundled: {}, 'one NATS': { nats: { replicas: 1 } }, outside: OUTSIDE },
  route: {
    none: {},
    ingress: { ingress: { enabled: true, className: 'nginx', tlsSecret: 'tls' } },
    gateway: { gateway: GATEWAY },
    'gateway without edge': { gateway: GATEWAY, edge: { enabled: false } },
  },
  scaling: {
    fixed: {},
    hpa: { autoscaling: { kind: 'hpa' } },
    'hpa on lag': { autoscaling: { kind: 'hpa', lag: { enabled: true } } },
    keda: { autoscaling: { kind: 'keda', lag: { enabled: true, prometheus: 'http://prometheus.monitoring:9090' } } },
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
