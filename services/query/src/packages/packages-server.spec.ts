import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { HttpAdapterHost } from '@nestjs/core';
import fastify, { type FastifyInstance } from 'fastify';
import { ServedPackages } from './served-packages.ts';
import { PackagesServer } from './packages-server.ts';

const CLI = {
  name: '@agentlens/cli',
  version: '1.2.3',
  file: 'cli-1.2.3.tgz',
  size: 4,
  integrity: 'sha512-abc',
  shasum: 'def',
  manifest: { name: '@agentlens/cli', version: '1.2.3', bin: { agentlens: 'bin/agentlens.js' } },
};
const WHEEL = {
  name: 'agentlens-guard',
  version: '1.2.3',
  requiresPython: '>=3.10',
  file: 'agentlens_guard-1.2.3-py3-none-any.whl',
  size: 5,
  sha256: 'fff',
};

let folder: string;
let server: FastifyInstance;

beforeEach(async () => {
  folder = join(mkdtempSync(join(tmpdir(), 'agentlens-shelf-')), 'packages');
  server = fastify();
  const host = { httpAdapter: { getInstance: () => server } } as unknown as HttpAdapterHost;
  new PackagesServer(host, new ServedPackages(folder, 500)).onModuleInit();
  await server.ready();
});

afterEach(async () => {
  await server.close();
  rmSync(join(folder, '..'), { recursive: true });
});

function fill(): void {
  mkdirSync(folder);
  writeFileSync(join(folder, CLI.file), 'tgz!');
  writeFileSync(join(folder, WHEEL.file), 'wheel');
  writeFileSync(join(folder, 'index.json'), JSON.stringify({ version: '1.2.3', npm: [CLI], pypi: [WHEEL] }));
}

const get = (url: string, headers: Record<string, string> = {}) =>
  server.inject({ url, headers: { host: 'lens.test:3400', ...headers } });

describe('the packages of this platform', () => {
  it('are a registry for the scope: document, file and checksums at the address that the client used', async () => {
    fill();
    for (const url of ['/packages/npm/@agentlens/cli', '/packages/npm/@agentlens%2fcli']) {
      expect((await get(url)).json()).toEqual({
        name: CLI.name,
        'dist-tags': { latest: '1.2.3' },
        versions: {
          '1.2.3': {
            ...CLI.manifest,
            _id: '@agentlens/cli@1.2.3',
            dist: { tarball: 'http://lens.test:3400/packages/cli-1.2.3.tgz', integrity: 'sha512-abc', shasum: 'def' },
          },
        },
      });
    }
    const proxied = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'lens.example', 'x-forwarded-prefix': '/lens' };
    const { versions } = (await get('/packages/npm/@agentlens/cli', proxied)).json();
    expect(versions['1.2.3'].dist.tarball).toBe('https://lens.example/lens/packages/cli-1.2.3.tgz');
    const file = await get('/packages/cli-1.2.3.tgz');
    expect(file.body).toBe('tgz!');
    expect(file.headers['content-type']).toBe('application/gzip');
  });

  it('are an index for pip and uv, by any spelling of the name', async () => {
    fill();
    expect((await get('/packages/pypi/simple/')).body).toContain('<a href="agentlens-guard/">agentlens-guard</a>');
    expect((await get('/packages/pypi/simple/agentlens-guard/')).body).toContain(
      '<a href="../../../agentlens_guard-1.2.3-py3-none-any.whl#sha256=fff" data-requires-python="&gt;=3.10">',
    );
    expect((await get('/packages/pypi/simple')).headers.location).toBe('simple/');
    expect((await get('/packages/pypi/simple/agentlens-guard')).headers.location).toBe('agentlens-guard/');
    expect((await get('/packages/pypi/simple/AgentLens_Guard/')).headers.location).toBe('../agentlens-guard/');
  });

  it('are sent again only if they have changed', async () => {
    fill();
    const { headers } = await get('/packages/cli-1.2.3.tgz');
    expect(headers['cache-control']).toBe('public, max-age=0, must-revalidate');
    const again = await get('/packages/cli-1.2.3.tgz', { 'if-none-match': String(headers.etag) });
    expect([again.statusCode, again.body]).toEqual([304, '']);
  });

  it('are found without a version, for machines that keep nothing', async () => {
    fill();
    expect((await get('/packages/cli.tgz')).headers.location).toBe('cli-1.2.3.tgz');
  });

  it.each(['/packages/npm/@agentlens/clj', '/packages/cli-9.9.9.tgz', '/packages/../secret', '/packages/index.json'])(
    'answer 404 with the names to %s',
    async (url) => {
      fill();
      const answer = await get(url);
      expect(answer.statusCode).toBe(404);
      if (!url.includes('..')) expect(answer.json().names).toEqual(['@agentlens/cli', 'agentlens-guard']);
    },
  );

  it('do not become part of an address that the request made up', async () => {
    fill();
    const { versions } = (await get('/packages/npm/@agentlens/cli', { 'x-forwarded-host': 'evil.test/x?"' })).json();
    expect(versions['1.2.3'].dist.tarball).toBe('http://127.0.0.1/packages/cli-1.2.3.tgz');
  });

  it('say how to make them where there are none', async () => {
    const answer = await get('/packages/cli-1.2.3.tgz');
    expect([answer.statusCode, answer.json().error]).toEqual([404, expect.stringContaining('npm run packages')]);
  });

  it('make a request wait while they are being made, and then answer', async () => {
    writeFileSync(`${folder}.pending`, '');
    const answer = get('/packages/cli-1.2.3.tgz');
    fill();
    expect((await answer).body).toBe('tgz!');
  });

  it('ask to come back if making them takes long', async () => {
    writeFileSync(`${folder}.pending`, '');
    const answer = await get('/packages/cli-1.2.3.tgz');
    expect([answer.statusCode, answer.headers['retry-after']]).toEqual([503, '5']);
  });
});
