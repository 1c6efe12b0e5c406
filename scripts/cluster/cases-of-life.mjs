import assert from 'node:assert/strict';
import { gunzipSync } from 'node:zlib';
import { SMALL } from './values.mjs';

const NEEDED = ['postgres_password', 'redis_password', 'nats_password', 'secret_key', 'query_database_password'];

export const LIFE_CASES = [
  {
    title: 'installs, passes its test, and makes a Secret that is no part of the revision',
    async run(world) {
      await world.makeNamespace();
      await world.install(SMALL);
      await world.helm.test(world.namespace);
      const secret = await world.readSecret();
      for (const entry of NEEDED) assert.ok(secret[entry]?.length > 20, `${entry} is missing`);
      assert.equal(Buffer.from(secret.secret_key, 'base64').length, 32);
      assert.equal(new Set(Object.values(secret)).size, Object.keys(secret).length);
      const [revision] = (await world.list('secrets')).filter(({ type }) => type === 'helm.sh/release.v1');
      const stored = Buffer.from(Buffer.from(revision.data.release, 'base64').toString(), 'base64');
      assert.ok(!gunzipSync(stored).toString().includes(secret.postgres_password), 'the revision contains a password');
      assert.deepEqual(
        (await world.list('roles')).map(({ metadata }) => metadata.name),
        [],
        'rights that stay',
      );
    },
  },
  {
    title: 'an upgrade replaces only what changed',
    async run(world) {
      await world.makeNamespace();
      await world.install(SMALL);
      const before = await podsByName(world);
      const query = { replicas: 1, podAnnotations: { changed: 'yes' } };
      await world.upgrade({ ...SMALL, services: { ...SMALL.services, query } });
      const after = await podsByName(world);
      const changed = [...after.keys()].filter((name) => before.get(name) !== after.get(name));
      assert.deepEqual(
        changed.map((name) => name.replace(/-[a-z0-9]+-[a-z0-9]+$/, '')),
        ['agentlens-query'],
      );
    },
  },
  {
    title: 'uninstalled and installed again, it has the same passwords and volumes',
    async run(world) {
      await world.makeNamespace();
      await world.install(SMALL);
      const [secret, claims] = [await world.readSecret(), await claimIds(world)];
      await world.helm.uninstall(world.namespace);
      await world.install(SMALL);
      assert.deepEqual(await world.readSecret(), secret);
      assert.deepEqual(await claimIds(world), claims);
    },
  },
  {
    title: 'another release takes the Secret over only with secrets.adopt',
    async run(world) {
      const values = { ...SMALL, namePrefix: 'agentlens-' };
      await world.makeNamespace();
      await world.install(values, { release: 'first' });
      const secret = await world.readSecret();
      await world.helm.uninstall(world.namespace, 'first');
      await assert.rejects(
        world.install(values, { release: 'second' }),
        /belongs to the release first.*secrets\.adopt=true/s,
      );
      await world.install({ ...values, secrets: { adopt: true } }, { release: 'second' });
      assert.deepEqual(await world.readSecret(), secret);
    },
  },
  {
    title: 'a rollback after a rotation keeps the new passwords and key',
    async run(world) {
      await world.makeNamespace();
      await world.install(SMALL);
      await world.upgrade({ ...SMALL, settings: { AGENTLENS_LOG_LEVEL: 'warn' } });
      const rotated = { redis_password: 'rotated-password', secret_key: Buffer.alloc(32, 7).toString('base64') };
      await world.api.patch(`${world.path('secrets')}/agentlens`, { stringData: rotated });
      await world.upgrade({ ...SMALL, settings: { AGENTLENS_LOG_LEVEL: 'info' } });
      const secret = await world.readSecret();
      for (const revision of [2, 1]) {
        await world.helm.rollback(world.namespace, revision);
        assert.deepEqual(await world.readSecret(), secret, `after the rollback to revision ${revision}`);
      }
      assert.equal(secret.redis_password, rotated.redis_password);
    },
  },
  {
    title: 'the longest release name has all its pods, and a longer one is refused',
    async run(world) {
      await world.makeNamespace();
      const release = 'r'.repeat(43);
      await world.install(SMALL, { release });
      const names = (await world.list('pods')).map(({ metadata }) => metadata.name);
      for (const server of ['postgres', 'nats', 'redis']) assert.ok(names.includes(`${release}-${server}-0`), server);
      await assert.rejects(
        world.install(SMALL, { release: `${release}r` }),
        /Use a shorter release name or set namePrefix/,
      );
    },
  },
];

async function podsByName(world) {
  const pods = await world.list('pods');
  return new Map(
    pods
      .filter(({ spec, metadata }) => spec.restartPolicy === 'Always' && metadata.deletionTimestamp === undefined)
      .map(({ metadata }) => [metadata.name, metadata.uid]),
  );
}

async function claimIds(world) {
  const claims = await world.list('persistentvolumeclaims');
  return Object.fromEntries(claims.map(({ metadata }) => [metadata.name, metadata.uid]));
}
