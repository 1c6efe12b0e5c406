import { spawnSync } from 'node:child_process';
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

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
    ['an undocumented variable', 'REDIS_PASSWORD:?', 'REDIS_PASWORD:?', 'REDIS_PASWORD is not documented'],
    ['a service that does not exist', 'SERVICE: query', 'SERVICE: queries', 'services/queries does not exist'],
    [
      'a service with the login of another',
      'postgres://agentlens_query:${QUERY_DATABASE_PASSWORD:?',
      'postgres://agentlens_run_tracking:${RUN_TRACKING_DATABASE_PASSWORD:?',
      'services.query: DATABASE_URL must begin with postgres://agentlens_query:',
    ],
    [
      'a service with the login of the owner',
      'postgres://agentlens_ingest:${INGEST_DATABASE_PASSWORD:?',
      'postgres://agentlens:${POSTGRES_PASSWORD:?',
      'services.ingest: DATABASE_URL must begin with postgres://agentlens_ingest:',
    ],
    [
      'a service with the NATS user of another',
      'nats://query:nats${QUERY_NATS_PASSWORD:?',
      'nats://agentlens:nats${NATS_PASSWORD:?',
      'services.query: NATS_URL must begin with nats://query:',
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

const LOST_SERVICE = `apiVersion: v1
kind: Service
metadata: { name: lost }
spec: { selector: { app: nothing }, ports: [{ port: 80 }] }
`;

describe('the check of the Kubernetes manifests', () => {
  it('passes them as they are', () => {
    expect(run('check-kubernetes.mjs')).toMatchObject({ status: 0 });
  });

  it('names every kind of mistake', () => {
    cpSync(join(root, 'deploy'), join(folder, 'deploy'), { recursive: true });
    const base = join(folder, 'deploy', 'kubernetes', 'base');
    const change = (file: string, good: string, bad: string) => {
      const text = readFileSync(join(base, file), 'utf8');
      expect(text).toContain(good);
      writeFileSync(join(base, file), text.replace(good, bad));
    };
    change('ingest.yaml', 'readOnlyRootFilesystem: true', 'readOnlyRootFilesystem: false');
    change('query.yaml', 'failureThreshold: 30', 'failureThreshold: many');
    change('run-tracking.yaml', 'periodSeconds: 2', 'periodSecnds: 2');
    change('network-policies.yaml', '- 10.0.0.0/8', '- 11.0.0.0/8');
    change('action-dispatcher.yaml', 'name: agentlens-action-dispatcher', 'name: agentlens-migrate');
    change('service-account.yaml', '# No service', `${LOST_SERVICE}---\n# No service`);
    const { status, said } = run('check-kubernetes.mjs', join(folder, 'deploy', 'kubernetes'));
    expect(status).toBe(1);
    expect(said).toContain('Deployment/ingest: container ingest: readOnlyRootFilesystem must be true');
    expect(said).toContain('failureThreshold must be integer');
    expect(said).toContain('periodSecnds');
    expect(said).toContain('0.0.0.0/0 must exclude 10.0.0.0/8');
    expect(said).toContain('Deployment/action-dispatcher: envFrom must have the secrets agentlens, agentlens-action-');
    expect(said).toContain('Service/lost: selects no pod');
  });
});

describe('the dashboard and the alerts', () => {
  const read = (file: string) => readFileSync(join(root, file), 'utf8');
  const sources = globSync('{libs,services}/*/src/**/*.ts', { cwd: root })
    .filter((file) => !file.endsWith('.spec.ts'))
    .map(read);
  const found = (pattern: RegExp) =>
    sources.flatMap((text) => [...text.matchAll(pattern)].map(([, name = '']) => name));
  const inPrometheus = (name: string) => name.replaceAll('.', '_');
  const asked = (...files: string[]) =>
    new Set(files.flatMap((file) => [...read(file).matchAll(/\bagentlens_\w+/g)].map(([name]) => name)));
  const base = (name: string) => name.replace(/_(total|bucket|count|sum)$/, '');
  const dashboard = 'deploy/grafana/dashboards/agentlens.json';
  const alerts = 'deploy/prometheus/alerts.yml';
  /** Name in Prometheus by kind of instrument. */
  const meters = found(/create\w*(?:Counter|Histogram|Gauge)\(\s*'(agentlens[._][\w.]+)'/g).map(inPrometheus);

  it('ask only for metrics that some service has', () => {
    const unknown = [...asked(dashboard, alerts)].filter((name) => !meters.includes(base(name)));
    expect(meters.length).toBeGreaterThan(30);
    expect(unknown).toEqual([]);
  });

  it('ask for counters as totals and for histograms by their parts', () => {
    const counters = found(/createCounter\(\s*'(agentlens[._][\w.]+)'/g).map(inPrometheus);
    const histograms = found(/createHistogram\(\s*'(agentlens[._][\w.]+)'/g).map(inPrometheus);
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
