import { IngestModule } from '@agentlens/ingest';
import { createMemoryBus } from '@agentlens/messaging';
import { INGEST_OPERATIONS, type Operation, PROBE_OPERATIONS, QUERY_OPERATIONS } from '@agentlens/operations';
import { assemblePlatform, createHttpApp, createLogger, loadConfig, type ServiceModule } from '@agentlens/platform';
import { QueryModule } from '@agentlens/query';
import { createMemoryState } from '@agentlens/state';
import { fixedClock } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';

const namesOf = (operations: readonly Operation[]) =>
  operations.map(({ method, path }) => `${method.toUpperCase()} ${path}`).sort();

/** The console's files are not operations; browsers send OPTIONS, and routers answer HEAD by themselves. */
const isOperation = (method: string, url: string) =>
  method !== 'HEAD' && method !== 'OPTIONS' && /^\/(api|v1|openapi\.json)/.test(url);

/** Every operation that a process with these modules serves, and its answer to TRACE on the probes. */
async function servedBy(services: readonly ServiceModule[]) {
  const clock = fixedClock('2026-03-01T12:00:00.000Z');
  const platform = assemblePlatform({
    config: loadConfig('standalone', {}),
    bus: createMemoryBus({ clock }),
    state: createMemoryState({ clock }),
    databaseUrl: 'postgres://nobody@127.0.0.1:1/none',
    secretKeys: [Buffer.alloc(32).toString('base64')],
    logger: createLogger({ name: 'test', level: 'fatal' }),
    clock,
  });
  const app = await createHttpApp(
    platform,
    services.map((service) => service.register(platform)),
  );
  const routes = new Set<string>();
  const server = app.getHttpAdapter().getInstance();
  server.addHook('onRoute', ({ method, url }: { method: string | string[]; url: string }) => {
    for (const one of [method].flat()) if (isOperation(one, url)) routes.add(`${one} ${url}`);
  });
  await app.init();
  await server.ready();
  const probes = await Promise.all(
    PROBE_OPERATIONS.map(async ({ path }) => (await app.inject({ method: 'TRACE', url: path })).headers.allow),
  );
  await app.close();
  await platform.close();
  return { routes: [...routes].sort(), probes };
}

describe('the declared routes are the served routes', () => {
  it.each([
    ['by the query service alone', [QueryModule], QUERY_OPERATIONS],
    ['by the gateway alone', [IngestModule], INGEST_OPERATIONS],
    ['by one process with both', [IngestModule, QueryModule], [...QUERY_OPERATIONS, ...INGEST_OPERATIONS]],
  ])('%s', async (_name, services, operations) => {
    const { routes, probes } = await servedBy(services);
    expect(routes).toEqual(namesOf(operations));
    expect(probes).toEqual(PROBE_OPERATIONS.map(() => 'GET, HEAD'));
  });
});
