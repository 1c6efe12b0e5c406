import { createClient } from '@agentlens/client';
import type { Scope } from '@agentlens/contracts/schemas';
import { describe, expect, it } from '@jest/globals';
import { Client, InMemoryTransport, type Tool } from '@modelcontextprotocol/client';
import { MemoryConfirmations } from './confirmations.ts';
import { createMcpServer } from './mcp-server.ts';
import { inputProblem, permittedTool } from './tool.ts';
import { TOOLS } from './tools/index.ts';

async function toolsFor(...scopes: Scope[]): Promise<Tool[]> {
  const server = createMcpServer({
    client: createClient({ fetch: () => Promise.reject(new Error('listing tools sends no request')) }),
    confirmations: new MemoryConfirmations(),
    ...{ tenantId: 'acme', keyId: 'key', scopes, version: '0.1.0', consoleUrl: 'http://127.0.0.1:3400' },
  });
  const [here, there] = InMemoryTransport.createLinkedPair();
  await server.connect(there as never);
  const client = new Client({ name: 'test', version: '1.0.0' });
  await client.connect(here);
  const { tools } = await client.listTools();
  await client.close();
  return tools;
}

const actionsOf = (tools: readonly Tool[], name: string): unknown => {
  const { action } = tools.find((tool) => tool.name === `agentlens_${name}`)?.inputSchema.properties ?? {};
  return (action as { enum?: unknown } | undefined)?.enum;
};

describe('the list of tools', () => {
  it('has at most 15 tools in at most 12 KiB, for an admin key', async () => {
    const tools = await toolsFor('admin');
    expect(tools.length).toBeLessThanOrEqual(15);
    expect(Buffer.byteLength(JSON.stringify(tools))).toBeLessThanOrEqual(12 * 1_024);
  });

  it('has flat schemas without a union at the root, which some clients reject', async () => {
    for (const { name, inputSchema } of await toolsFor('admin')) {
      expect({ name, keys: Object.keys(inputSchema).filter((key) => /Of$/.test(key)) }).toEqual({ name, keys: [] });
      expect(inputSchema.type).toBe('object');
    }
  });

  it('requires no argument of any tool', async () => {
    for (const { name, inputSchema } of await toolsFor('admin'))
      expect({ name, required: inputSchema.required ?? [] }).toEqual({ name, required: [] });
  });

  it('sets all four hints of every tool', async () => {
    for (const { annotations } of [...(await toolsFor('admin')), ...(await toolsFor('read'))])
      expect(annotations).toEqual({
        readOnlyHint: expect.any(Boolean),
        destructiveHint: expect.any(Boolean),
        idempotentHint: expect.any(Boolean),
        openWorldHint: false,
      });
  });

  it('is read-only with a read key', async () => {
    const tools = await toolsFor('read');
    expect(tools.every(({ annotations }) => annotations?.readOnlyHint === true)).toBe(true);
    expect(actionsOf(tools, 'guardrails')).toEqual(['status', 'list', 'get', 'history', 'validate']);
    expect(actionsOf(tools, 'control')).toEqual(['status']);
    expect(actionsOf(tools, 'approvals')).toEqual(['list', 'get']);
    const { properties } = tools[0]?.inputSchema ?? {};
    expect(Object.keys(properties ?? {})).not.toContain('confirm');
  });

  it('decides approvals with a review key, and changes nothing else', async () => {
    const tools = await toolsFor('read', 'review');
    expect(actionsOf(tools, 'approvals')).toEqual(['list', 'get', 'approve', 'deny', 'cancel', 'acknowledge']);
    expect(actionsOf(tools, 'guardrails')).not.toContain('create');
  });

  it('decides nothing with a key that also represents agents', async () => {
    expect(actionsOf(await toolsFor('read', 'review', 'decide'), 'approvals')).toEqual(['list', 'get']);
  });

  it('has every action with an admin key', async () => {
    expect(actionsOf(await toolsFor('admin'), 'guardrails')).toEqual([
      ...['status', 'list', 'get', 'history', 'validate', 'backtest'],
      ...['create', 'update', 'enable', 'disable', 'delete'],
    ]);
  });
});

describe('the fields of an action', () => {
  it.each<Scope>(['admin', 'read'])('are exactly those that the description lists for it (%s)', async (scope) => {
    for (const { name, description = '', inputSchema } of await toolsFor(scope)) {
      const definition = TOOLS.find((tool) => `agentlens_${tool.name}` === name);
      const tool = definition && permittedTool(definition, [scope]);
      const fields = Object.keys(inputSchema.properties ?? {}).filter((field) => !['action', 'detail'].includes(field));
      for (const [action, spec] of tool?.actions ?? []) {
        const accepted = fields.filter((field) => {
          const needed = Object.fromEntries((spec.needs ?? []).map((need) => [need, 'x']));
          return inputProblem(action, spec, { ...needed, [field]: 'x' }) === undefined;
        });
        const [, signature] = new RegExp(`[ ,]${action}\\(([^)]*)\\)`).exec(description) ?? [];
        const listed = tool?.actions.size === 1 ? fields : (signature?.match(/\w+/g) ?? []);
        expect({ name, action, fields: listed.toSorted() }).toEqual({ name, action, fields: accepted.toSorted() });
      }
    }
  });
});
