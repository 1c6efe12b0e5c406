import { join } from 'node:path';
import { FAILURE_CASES } from './cases-of-failure.mjs';
import { LIFE_CASES } from './cases-of-life.mjs';
import { UPGRADE_CASES } from './cases-of-upgrades.mjs';
import { startControlPlane } from './control-plane.mjs';
import { createHelm } from './helm.mjs';
import { Nodes } from './node.mjs';
import { poll } from './poll.mjs';
import { tryValueSets } from './value-sets.mjs';

const root = join(import.meta.dirname, '..', '..');
const chart = join(root, 'deploy', 'helm', 'agentlens');
const CASES = [...LIFE_CASES, ...UPGRADE_CASES, ...FAILURE_CASES];

const CASES_AT_ONCE = 3;

/** Runs every case whose title contains `only`, each in a namespace of its own. */
export async function runSuite({ binaries, helm, only }) {
  const cluster = await startControlPlane(binaries);
  const nodes = new Nodes(cluster);
  const [problems, done] = [[], []];
  const step = async (title, work, namespace) => {
    if (!title.includes(only)) return;
    const begun = performance.now();
    try {
      await work();
      done.push(title);
      console.log(`  ok      ${title} (${((performance.now() - begun) / 1000).toFixed(1)} s)`);
    } catch (error) {
      const waiting = [...nodes.waiting]
        .filter(([pod]) => pod.startsWith(`${namespace}/`))
        .map(([pod, missing]) => `\n      ${pod} waits for ${missing.join(', ')}`);
      problems.push(`${title}: ${error.message}${waiting.join('')}`);
      console.log(`  FAILED  ${title}`);
    }
  };
  try {
    await nodes.start();
    await step('sets of values apply on the server', async () => {
      const found = await tryValueSets(cluster, helm, chart);
      if (found.problems.length > 0) throw new Error(`\n    ${found.problems.join('\n    ')}`);
    });
    const queue = [...CASES.entries()];
    const work = async () => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        const [index, one] = next;
        const namespace = `case-${index}`;
        await step(one.title, () => one.run(new World({ cluster, nodes, helm, namespace })), namespace);
      }
    };
    await Promise.all(Array.from({ length: CASES_AT_ONCE }, work));
  } finally {
    await nodes.stop();
    await cluster.stop();
  }
  return { problems, done };
}

/** What a case works with: a namespace that enforces Pod Security "restricted", and Helm. */
class World {
  root = root;
  chart = chart;

  constructor({ cluster, nodes, helm, namespace }) {
    this.api = cluster.api;
    this.folder = cluster.folder;
    this.nodes = nodes;
    this.namespace = namespace;
    this.helm = createHelm(helm, cluster);
  }

  onMigration(answer) {
    this.nodes.migrations.set(this.namespace, answer);
  }

  async makeNamespace() {
    const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
    const metadata = { name: this.namespace, labels };
    await this.api.create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata });
    await poll('the account of the namespace', () => this.api.exists(`${this.path('serviceaccounts')}/default`));
  }

  install(values, options = {}) {
    return this.helm.install(this.namespace, options.chart ?? chart, values, options);
  }

  upgrade(values, options = {}) {
    return this.helm.upgrade(this.namespace, options.chart ?? chart, values, options);
  }

  path(resource) {
    const bases = {
      deployments: '/apis/apps/v1',
      statefulsets: '/apis/apps/v1',
      replicasets: '/apis/apps/v1',
      jobs: '/apis/batch/v1',
      networkpolicies: '/apis/networking.k8s.io/v1',
      roles: '/apis/rbac.authorization.k8s.io/v1',
    };
    return `${bases[resource] ?? '/api/v1'}/namespaces/${this.namespace}/${resource}`;
  }

  list(resource) {
    return this.api.list(this.path(resource));
  }

  get(resource, name) {
    return this.api.get(`${this.path(resource)}/${name}`);
  }

  /** The entries of the Secret, decoded. */
  async readSecret(name = 'agentlens') {
    const { data = {} } = await this.get('secrets', name);
    return Object.fromEntries(
      Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]),
    );
  }
}
