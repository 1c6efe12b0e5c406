import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createEgressClient } from '@agentlens/egress';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { testConnection } from './test-connection.ts';

const asked: { readonly url: string | undefined; readonly key: string | undefined }[] = [];
let status = 200;
const provider = createServer((request, response) => {
  const { authorization, 'x-api-key': own } = request.headers;
  asked.push({ url: request.url, key: authorization ?? String(own) });
  response.writeHead(status).end('{"error":"the key sk-secret is wrong"}');
});
const egress = createEgressClient({ allow: ['127.0.0.1/32'] });
let address = '';

beforeAll(async () => {
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
  address = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
});
afterAll(async () => {
  await egress.close();
  await new Promise((resolve) => provider.close(resolve));
});

const test = (dialect: 'anthropic' | 'openai', baseUrl = address) =>
  testConnection(egress, { dialect, baseUrl, credential: 'sk-secret' });

describe('the test of a model connection', () => {
  it('lists models, with the key where the provider expects it', async () => {
    const message = 'The provider accepts the key';
    expect(await test('anthropic')).toEqual({ works: true, status: 200, message });
    expect(await test('openai', `${address}/v1`)).toEqual({ works: true, status: 200, message });
    expect(asked).toEqual([
      { url: '/v1/models', key: 'sk-secret' },
      { url: '/v1/models', key: 'Bearer sk-secret' },
    ]);
  });

  it('says what the provider answered, and never passes on its text', async () => {
    status = 401;
    const message = 'The provider rejects the key (401)';
    expect(await test('openai')).toEqual({ works: false, status: 401, message });
  });

  it('says why the provider was not reached', async () => {
    const answer = await test('openai', 'http://127.0.0.1:1');
    expect(answer).toMatchObject({ works: false, status: null, message: expect.stringContaining('was not reached') });
  });
});
