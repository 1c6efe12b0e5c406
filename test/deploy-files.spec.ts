import { spawnSync } from 'node:child_process';
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, matchesGlob } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parseAllDocuments } from 'yaml';

interface KubernetesObject {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: { readonly minReplicas?: number; readonly scaleTargetRef?: { readonly name: string } };
}

const root = join(import.meta.dirname, '..');

function run(script: string, ...args: string[]): { status: number | null; said: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, 'scripts', script), ...args], {
    encoding: 'utf8',
  });
  return { status, said: stdout + stderr };
}

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'agentlens-deploy-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the check of the compose file', () => {
  const compose = readFileSync(join(root, 'docker-compose.yml'), 'utf8');

  it('passes the file as it is', () => {
    expect(run('check-compose.mjs')).toMatchObject({ status: 0 });
  });

  it.each([
    ['a container that runs as root', 'user: "70:70"', 'user: "0:0"', 'services.postgres: must not run as root'],
    ['a root file system that can be written', 'read_only: true', 'read_only: false', 'read_only must be true'],
    ['a port without its address', '"127.0.0.1:3401:3000"', '"3401:3000"', 'must name its address'],
    ['an undocumented variable', '{EDGE_PORT:', '{EDGE_PROT:', 'EDGE_PROT is not documented'],
    ['a variable that reaches no service', 'AGENTLENS_PUBLIC_URL:', 'OTHER:', 'AGENTLENS_PUBLIC_URL is documented'],
    ['a secret in a variable', 'POSTGRES_DB: agentlens', `PGPASSWORD: \${A_PASSWORD}`, 'PGPASSWORD must be a secret'],
    ['a service that does not exist', 'SERVICE: query', 'SERVICE: queries', 'services/queries does not exist'],
    [
      'a service with the login of another',
      'postgres://agentlens_query@',
      'postgres://agentlens_run_tracking@',
      'services.query: DATABASE_URL must begin with postgres://agentlens_query@',
    ],
    [
      'a service with the login of the owner',
      'postgres://agentlens_ingest@',
      'postgres://agentlens@',
      'services.ingest: DATABASE_URL must begin with postgres://agentlens_ingest@',
    ],
    [
      'a service with the NATS user of another',
      'nats://query@',
      'nats://agentlens@',
      'services.query: NATS_URL must begin with nats://query@',
    ],
    [
      'a service with the password of another',
      'source: query_nats_password, target: nats_password',
      'source: nats_password, target: nats_password',
      'services.query: must not have the secret nats_password',
    ],
    ['a container without a limit', 'memory: 768M', 'reserved: 768M', 'limits must have cpus and memory'],
  ])('refuses %s', (_, good, bad, said) => {
    const file = join(folder, 'docker-compose.yml');
    expect(compose).toContain(good);
    writeFileSync(file, compose.replace(good, bad));
    const outcome = run('check-compose.mjs', file);
    expect(outcome.status).toBe(1);
    expect(outcome.said).toContain(said);
  });
});

describe('the build context of the images', () => {
  interface Manifest {
    readonly name: string;
    readonly dependencies?: Readonly<Record<string, string>>;
  }
  const read = (file: string) => readFileSync(join(root, file), 'utf8');
  const { workspaces } = JSON.parse(read('package.json')) as { workspaces: string[] };
  const manifests = workspaces
    .flatMap((pattern) => globSync(`${pattern}/package.json`, { cwd: root }))
    .map((file) => ({ file, manifest: JSON.parse(read(file)) as Manifest }));

  /** The last pattern that matches the path or a folder above it decides. */
  function isIgnored(path: string): boolean {
    const places = path.split('/').map((_, index, parts) => parts.slice(0, index + 1).join('/'));
    let ignored = false;
    for (const line of read('.dockerignore').split('\n')) {
      if (line === '' || line.startsWith('#')) continue;
      const pattern = line.replace(/^!/, '');
      if (places.some((place) => matchesGlob(place, pattern))) ignored = !line.startsWith('!');
    }
    return ignored;
  }

  it('has every workspace that the services and the command line are built from', () => {
    const needed = new Set<string>();
    const open = manifests.filter(({ file }) => /^(services|apps)\//.test(file)).map(({ manifest }) => manifest.name);
    for (let name = open.pop(); name !== undefined; name = open.pop()) {
      const found = manifests.find(({ manifest }) => manifest.name === name);
      if (found === undefined || needed.has(found.file)) continue;
      needed.add(found.file);
      open.push(...Object.keys(found.manifest.dependencies ?? {}));
    }
    expect(needed.size).toBeGreaterThan(15);
    expect([...needed].filter(isIgnored)).toEqual([]);
    expect(isIgnored('integrations/js/langchain/test/x.spec.ts')).toBe(true);
  });
});

const LOST_SERVICE = `---
apiVersion: v1
kind: Service
metadata: { name: lost, namespace: agentlens }
spec: { selector: { app: nothing }, ports: [{ port: 80 }] }
`;

describe('the check of the Kubernetes objects', () => {
  const overlays = join(root, 'deploy', 'kubernetes');

  it('passes the overlays as they are', () => {
    expect(run('check-kubernetes.mjs', overlays)).toMatchObject({ status: 0 });
  });

  it('names every kind of mistake', () => {
    cpSync(overlays, join(folder, 'kubernetes'), { recursive: true });
    const file = join(folder, 'kubernetes', 'overlays', 'small', 'agentlens.yaml');
    const parts = readFileSync(file, 'utf8').split(/^---\n/m);
    const change = (kind: string, name: string, good: string | RegExp, bad: string) => {
      const index = parts.findIndex(
        (part) => part.includes(`\nkind: ${kind}\n`) && part.includes(`\n  name: ${name}\n`),
      );
      expect(parts[index] ?? '').toMatch(good);
      parts[index] = parts[index]?.replace(good, bad) ?? '';
    };
    change('Deployment', 'ingest', 'readOnlyRootFilesystem: true', 'readOnlyRootFilesystem: false');
    change('Deployment', 'query', 'failureThreshold: 30', 'failureThreshold: many');
    change('Deployment', 'run-tracking', 'periodSeconds: 2', 'periodSecnds: 2');
    change('NetworkPolicy', 'action-dispatcher-to-internet', '- 10.0.0.0/8', '- 11.0.0.0/8');
    change('NetworkPolicy', 'edge', 'name: edge', 'name: edges');
    change('Deployment', 'action-dispatcher', /key: action_dispatcher_nats/, 'key: query_nats');
    writeFileSync(file, parts.join('---\n') + LOST_SERVICE);
    const { status, said } = run('check-kubernetes.mjs', join(folder, 'kubernetes'));
    expect(status).toBe(1);
    expect(said).toContain('Deployment/ingest: container ingest: readOnlyRootFilesystem must be true');
    expect(said).toContain('failureThreshold must be integer');
    expect(said).toContain('periodSecnds');
    expect(said).toContain('0.0.0.0/0 must exclude 10.0.0.0/8');
    expect(said).toContain('Deployment/action-dispatcher: must not have query_nats_password');
    expect(said).toContain('Service/lost: selects no pod');
  });

  it('finds at least three replicas of each service in production', () => {
    const text = readFileSync(join(overlays, 'overlays', 'production', 'agentlens.yaml'), 'utf8');
    const objects = parseAllDocuments(text).map((document) => document.toJS() as KubernetesObject);
    const scaled = objects.filter(({ kind }) => kind === 'HorizontalPodAutoscaler');
    const deployments = objects.filter(({ kind }) => kind === 'Deployment').map(({ metadata }) => metadata.name);
    expect(deployments).toHaveLength(8);
    expect(new Set(scaled.map(({ spec }) => spec.scaleTargetRef?.name))).toEqual(new Set(deployments));
    for (const { spec } of scaled) expect(spec.minReplicas).toBeGreaterThanOrEqual(3);
  });
});

describe('the dashboard and the alerts', () => {
  const read = (file: string) => readFileSync(join(root, file), 'utf8');
  const sources = globSync('{libs,services}/*/src/**/*.ts', { cwd: root })
    .filter((file) => !file.endsWith('.spec.ts'))
    .map(read);
  const found = (pattern: RegExp) =>
    sources.flatMap((text) =>
      // Metrics of a gateway are named after the service that it runs in.
      [...text.matchAll(pattern)].map(([, name = '']) => name.replace(/\$\{service\}/, 'ingest')),
    );
  const inPrometheus = (name: string) => name.replaceAll('.', '_');
  const asked = (...files: string[]) =>
    new Set(files.flatMap((file) => [...read(file).matchAll(/\bagentlens_\w+/g)].map(([name]) => name)));
  const base = (name: string) => name.replace(/_(total|bucket|count|sum)$/, '');
  const dashboard = 'deploy/grafana/dashboards/agentlens.json';
  const alerts = 'deploy/prometheus/alerts.yml';
  /** Name in Prometheus by kind of instrument. */
  const meters = found(/create\w*(?:Counter|Histogram|Gauge)\(\s*['`](agentlens[._][\w.${}]+)['`]/g).map(inPrometheus);

  it('ask only for metrics that some service has', () => {
    const unknown = [...asked(dashboard, alerts)].filter((name) => !meters.includes(base(name)));
    expect(meters.length).toBeGreaterThan(30);
    expect(unknown).toEqual([]);
  });

  it('ask for counters as totals and for histograms by their parts', () => {
    const counters = found(/createCounter\(\s*['`](agentlens[._][\w.${}]+)['`]/g).map(inPrometheus);
    const histograms = found(/createHistogram\(\s*['`](agentlens[._][\w.${}]+)['`]/g).map(inPrometheus);
    const wrong = [...asked(dashboard, alerts)].filter(
      (name) =>
        (counters.includes(base(name)) && !name.endsWith('_total')) ||
        (histograms.includes(base(name)) && !/_(bucket|count|sum)$/.test(name)),
    );
    expect(wrong).toEqual([]);
  });

  it('leave no metric of the services unseen', () => {
    const seen = new Set([...asked(dashboard)].map(base));
    expect(meters.filter((name) => !seen.has(name))).toEqual([]);
  });

  it('have a section on each alert in docs/alerts.md', () => {
    const names = [...read(alerts).matchAll(/- alert: (\w+)/g)].map(([, name = '']) => name);
    const headings = new Set([...read('docs/alerts.md').matchAll(/^## (\w+)$/gm)].map(([, name]) => name));
    expect(names.length).toBeGreaterThan(10);
    expect(names.filter((name) => !headings.has(name))).toEqual([]);
  });
});
