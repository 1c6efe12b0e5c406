import assert from 'node:assert/strict';
import { SMALL } from './values.mjs';

const IS_MIGRATION = ({ metadata }) => metadata.labels?.['app.kubernetes.io/name'] === 'migrate';

export const FAILURE_CASES = [
  {
    title: 'a migration that fails leaves the old version running, and its pod with the log',
    async run(world) {
      await world.makeNamespace();
      await world.install(SMALL);
      const before = await serviceImages(world);
      world.onMigration(() => false);
      const next = { ...SMALL, image: { ...SMALL.image, tag: '9.9.9' }, migration: { deadlineSeconds: 40 } };
      await assert.rejects(world.upgrade(next), /pre-upgrade hooks failed/);
      assert.deepEqual(await serviceImages(world), before);
      const failed = (await world.list('pods')).filter((pod) => IS_MIGRATION(pod) && pod.status.phase === 'Failed');
      assert.ok(failed.length > 0, 'no pod of the migration is left');
      assert.ok(!failed.some(({ status }) => status.containerStatuses[0].state.terminated.message === ''));
      const job = await world.get('jobs', 'agentlens-migrate');
      assert.ok(
        job.status.conditions.some(({ type }) => type === 'Failed'),
        'the Job goes on after Helm has given up',
      );
      world.onMigration(() => true);
      await world.upgrade(next);
      assert.ok((await serviceImages(world)).every((image) => image.endsWith(':9.9.9')));
    },
  },
  {
    title: 'another storage size is refused before anything changes',
    async run(world) {
      await world.makeNamespace();
      await world.install(SMALL);
      const before = await serviceImages(world);
      const next = { ...SMALL, image: { ...SMALL.image, tag: '9.9.9' }, redis: { storage: { size: '8Gi' } } };
      await assert.rejects(world.upgrade(next), /redis\.storage\.size is 8Gi.*--cascade=orphan/s);
      assert.deepEqual(await serviceImages(world), before);
    },
  },
  {
    title: 'a Secret of ours without an entry is refused before anything changes',
    async run(world) {
      await world.makeNamespace();
      await world.install(SMALL);
      const secret = await world.readSecret();
      delete secret.backtester_database_password;
      const metadata = { name: 'ours' };
      await world.api.create(world.path('secrets'), { apiVersion: 'v1', kind: 'Secret', metadata, stringData: secret });
      await assert.rejects(
        world.upgrade({ ...SMALL, secrets: { existing: 'ours' } }),
        /The Secret ours has no entry "backtester_database_password"/,
      );
    },
  },
];

async function serviceImages(world) {
  const deployments = await world.list('deployments');
  return deployments
    .filter(({ metadata }) => !metadata.name.endsWith('-edge'))
    .map(({ spec }) => spec.template.spec.containers[0].image)
    .toSorted();
}
