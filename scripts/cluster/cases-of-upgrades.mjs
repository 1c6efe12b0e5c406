import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { checkOutChart } from './helm.mjs';
import { SMALL, valuesFor } from './values.mjs';

/** Commits of earlier charts: the first one, before the backtester; before the model gateway; before the Secret left the revision. */
const EARLIER = {
  'the first chart': '405181a0',
  'the chart before the model gateway': 'd96b74c1',
  'the chart whose revisions have the Secret': '7a4b4eba',
};

const OUTSIDE = {
  postgres: { bundled: false, host: 'postgres.example.com', port: 6432 },
  networkPolicy: { servers: ['10.20.0.0/16'] },
};

function upgradeCase([name, commit]) {
  return {
    title: `upgrades from ${name}`,
    async run(world) {
      const old = checkOutChart(world.root, commit, world.folder);
      if (old === undefined) throw new Error(`this clone does not have the commit ${commit}: fetch its whole history`);
      const { services } = parse(readFileSync(join(old, 'values.yaml'), 'utf8'));
      await world.makeNamespace();
      await world.install(valuesFor(Object.keys(services)), { chart: old });
      const before = await world.readSecret();
      await world.upgrade(SMALL);
      const after = await world.readSecret();
      for (const [entry, value] of Object.entries(before)) assert.equal(after[entry], value, entry);
      assert.ok(after.model_gateway_nats_password, 'the entries of new services');
      const running = await world.get('deployments', 'agentlens-model-gateway');
      assert.equal(running.status.readyReplicas, 1);
      // Back to the old chart: a rollback would bring old passwords, an upgrade keeps them.
      await world.api.patch(`${world.path('secrets')}/agentlens`, { stringData: { redis_password: 'rotated' } });
      await assert.rejects(world.helm.rollback(world.namespace, 1), /no Secret with the name "agentlens" found/);
      assert.equal((await world.readSecret()).redis_password, 'rotated');
    },
  };
}

export const UPGRADE_CASES = [
  ...Object.entries(EARLIER).map(upgradeCase),
  {
    title: 'a migration to a Postgres elsewhere may reach it while the old policies are in force',
    async run(world) {
      await world.makeNamespace();
      await world.install(SMALL);
      let reached;
      world.onMigration(async (pod) => {
        reached = await mayReach(world, pod, '10.20.0.0/16', 6432);
        return true;
      });
      await world.upgrade({ ...SMALL, ...OUTSIDE });
      assert.equal(reached, true, 'no policy in force lets the migration reach the new server');
      assert.ok(!(await world.list('statefulsets')).some(({ metadata }) => metadata.name === 'agentlens-postgres'));
    },
  },
  {
    title: 'a migration to a Postgres of the release runs when that has started',
    async run(world) {
      await world.makeNamespace();
      await world.install({ ...SMALL, ...OUTSIDE });
      world.onMigration((pod) => {
        const { value } = pod.spec.containers[0].env.find(({ name }) => name === 'DATABASE_URL');
        return value.includes('agentlens-postgres:5432');
      });
      await world.upgrade(SMALL);
      const jobs = (await world.list('jobs')).filter(({ metadata }) => metadata.name.startsWith('agentlens-migrate-'));
      assert.ok(
        jobs.some(({ status }) => status.succeeded === 1),
        'the migration is a part of this revision',
      );
    },
  },
  {
    title: 'turning autoscaling on keeps the running replicas',
    async run(world) {
      await world.makeNamespace();
      const three = { ...SMALL, services: { ...SMALL.services, ingest: { replicas: 3 } } };
      await world.install(three);
      const before = await world.get('deployments', 'agentlens-ingest');
      await world.upgrade({
        ...three,
        autoscaling: { kind: 'hpa', minReplicas: 1, maxReplicas: 4 },
        postgres: { maxConnections: 400 },
      });
      const after = await world.get('deployments', 'agentlens-ingest');
      assert.equal(after.spec.replicas, 3);
      assert.equal(after.metadata.generation, before.metadata.generation, 'the Deployment did not change meanwhile');
    },
  },
];

/** Whether the policies in force let a pod reach a network: one of those that select it must have it. */
async function mayReach(world, pod, network, port) {
  const policies = await world.list('networkpolicies');
  const selects = ({ matchLabels = {}, matchExpressions = [] }) =>
    Object.entries(matchLabels).every(([key, value]) => pod.metadata.labels[key] === value) &&
    matchExpressions.every(({ key, values }) => values.includes(pod.metadata.labels[key]));
  return policies
    .filter(({ spec }) => selects(spec.podSelector))
    .flatMap(({ spec }) => spec.egress ?? [])
    .some(
      ({ to = [], ports = [] }) =>
        to.some(({ ipBlock }) => ipBlock?.cidr === network) && ports.some((open) => open.port === port),
    );
}
