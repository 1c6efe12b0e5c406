import { createClient } from '@agentlens/client';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import { MAX_ANSWER_MS, MemoryConfirmations } from './confirmations.ts';
import { createMcpServer } from './mcp-server.ts';

let nowMs: number;
let changes: string[];
let confirmations: MemoryConfirmations;
beforeEach(() => {
  nowMs = 1_000;
  changes = [];
  confirmations = new MemoryConfirmations(() => nowMs);
});

/** Calls a tool as a client that cannot ask its user. */
async function call(tool: string, given: Record<string, unknown>, keyId = 'key'): Promise<string> {
  const fetch: typeof globalThis.fetch = async (input, { method, body } = {}) => {
    const { pathname } = new URL(input instanceof Request ? input.url : input);
    if (method !== 'GET') changes.push(`${method} ${pathname} ${typeof body === 'string' ? body : ''}`.trim());
    return Response.json({ id: 'r', name: pathname, enabled: true, mode: 'enforce', metadata: {}, order: {} });
  };
  const server = createMcpServer({
    ...{ client: createClient({ baseUrl: 'http://127.0.0.1:3400', fetch }), confirmations, keyId, scopes: ['admin'] },
    ...{ tenantId: 'acme', version: '0.1.0', consoleUrl: 'http://127.0.0.1:3400' },
  });
  const [here, there] = InMemoryTransport.createLinkedPair();
  await server.connect(there as never);
  const client = new Client({ name: 'test', version: '1.0.0' });
  await client.connect(here);
  const { content } = await client.callTool({ name: `agentlens_${tool}`, arguments: given });
  await client.close();
  return content.map((block) => (block.type === 'text' ? block.text : '')).join('');
}

const killing = { action: 'kill', scope: 'agent', id: 'a' };

async function codeFor(tool: string, given: Record<string, unknown>): Promise<string> {
  const asked = await call(tool, given);
  const [, code = ''] = /"confirm": "([^"]+)"/.exec(asked) ?? [];
  expect({ asked, code }).toEqual({ asked, code: expect.stringMatching(/./) });
  return code;
}

describe('the confirmation of a client that cannot ask its user', () => {
  it('is valid for its call, once', async () => {
    const confirm = await codeFor('control', killing);
    expect(changes).toEqual([]);
    await call('control', { ...killing, confirm });
    expect(changes).toEqual([expect.stringContaining('"killed"')]);
    expect(await call('control', { ...killing, confirm })).toMatch(/not valid for this question/);
    expect(changes).toHaveLength(1);
  });

  it.each<[string, string, Record<string, unknown>, string]>([
    ['other arguments', 'control', { ...killing, id: 'b' }, 'key'],
    ['another action', 'control', { ...killing, action: 'resume' }, 'key'],
    ['another tool', 'guardrails', { action: 'delete', ruleId: 'a' }, 'key'],
    ['another key', 'control', killing, 'other-key'],
  ])('is not valid for %s', async (_, tool, given, keyId) => {
    const confirm = await codeFor('control', killing);
    expect(await call(tool, { ...given, confirm }, keyId)).toMatch(
      /not valid for this question[\s\S]+Nothing was changed/,
    );
    expect(changes).toEqual([]);
    await call('control', { ...killing, confirm });
    expect(changes).toHaveLength(1);
  });

  it('expires', async () => {
    const confirm = await codeFor('control', killing);
    nowMs += MAX_ANSWER_MS;
    expect(await call('control', { ...killing, confirm })).toMatch(/not valid for this question/);
    expect(changes).toEqual([]);
  });

  it('does not depend on the order of the fields', async () => {
    const rule = { mode: 'enforce', name: 'n' };
    const confirm = await codeFor('guardrails', { action: 'create', rule });
    await call('guardrails', { confirm, rule: { name: 'n', mode: 'enforce' }, action: 'create' });
    expect(changes).toHaveLength(1);
  });
});
