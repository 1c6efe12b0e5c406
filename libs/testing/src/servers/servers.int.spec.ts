import { fork } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { freshDatabase } from '../fresh-database.ts';
import { eventually } from '../time.ts';
import { startNats } from './nats.ts';
import { startRedis } from './redis.ts';
import type { TestServer } from './test-server.ts';

const servers: TestServer[] = [];
afterAll(() => Promise.all(servers.map((server) => server.stop())));

async function firstBytes(url: string, send = ''): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port) }, () => socket.write(send));
    socket.once('data', (chunk) => {
      socket.destroy();
      resolve(chunk.toString('utf8'));
    });
    socket.once('error', reject);
  });
}

describe('test servers', () => {
  it('starts a NATS server with JetStream that survives a kill on the same port', async () => {
    const nats = await startNats();
    servers.push(nats);
    expect(await firstBytes(nats.url)).toContain('"jetstream":true');
    await nats.kill();
    await nats.start();
    expect(await firstBytes(nats.url)).toContain('"jetstream":true');
  });

  it('starts a Redis server', async () => {
    const redis = await startRedis();
    servers.push(redis);
    expect(await firstBytes(redis.url, 'PING\r\n')).toBe('+PONG\r\n');
  });

  it('require the given password', async () => {
    const [nats, redis] = await Promise.all([
      startNats({ password: 'n-secret' }),
      startRedis({ password: 'r-secret' }),
    ]);
    servers.push(nats, redis);
    expect(await firstBytes(nats.url)).toContain('"auth_required":true');
    expect(await firstBytes(redis.url, 'PING\r\n')).toContain('NOAUTH');
    expect(await firstBytes(redis.url, 'AUTH r-secret\r\n')).toBe('+OK\r\n');
    expect([new URL(nats.url).password, new URL(redis.url).password]).toEqual(['n-secret', 'r-secret']);
  });

  it('exit with the process that started them, even if it is killed', async () => {
    const owner = fork(new URL('./redis-owner.testing.ts', import.meta.url));
    const [{ url }] = (await once(owner, 'message')) as [{ url: string }];
    expect(await firstBytes(url, 'PING\r\n')).toBe('+PONG\r\n');
    owner.kill('SIGKILL');
    await eventually(() => expect(firstBytes(url, 'PING\r\n')).rejects.toThrow());
  });

  it('give every caller its own database on one Postgres', async () => {
    const [first, second] = await Promise.all([freshDatabase(), freshDatabase()]);
    expect(first.url).not.toBe(second.url);
    const client = new pg.Client({ connectionString: first.url });
    await client.connect();
    const { rows } = await client.query('select current_database() as name');
    await client.end();
    expect(first.url.endsWith(rows[0].name)).toBe(true);
    await Promise.all([first.drop(), second.drop()]);
  });
});
