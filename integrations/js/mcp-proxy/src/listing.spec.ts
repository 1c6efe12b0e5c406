import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Guard } from '@agentlens/sdk/adapter';
import { TestPlatform } from '@agentlens/sdk/testing';
import { PinGuard } from './pin-guard.ts';
import { Pins } from './pins.ts';
import { Session } from './session.ts';

void describe('a client that lists tools with --pin warn', () => {
  let folder = '';
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'agentlens-pins-'));
  });
  after(() => rmSync(folder, { recursive: true }));

  void it('makes no run; a changed definition is a part of the run of its first call', async () => {
    const platform = new TestPlatform();
    const lens = await platform.client();
    const guard = new Guard(lens, { name: 'mcp', framework: 'mcp' }, {}, { seesModels: false });
    const pins = new PinGuard({
      ...{ mode: 'warn', server: 'files', guard, warn: () => undefined },
      pins: new Pins(join(folder, 'pins.json'), assert.ifError),
    });
    const none = () => undefined;
    const session = new Session({ guard, server: 'files', pins, toClient: none, toServer: none });
    const list = async (id: number, description: string) => {
      await session.fromClient({ jsonrpc: '2.0', id, method: 'tools/list' });
      const tools = [{ name: 'write', description, inputSchema: { type: 'object' } }];
      await session.fromServer({ jsonrpc: '2.0', id, result: { tools } });
    };
    await list(1, 'Writes');
    await list(2, 'Writes more');
    assert.equal(platform.runs.length, 0);
    await session.fromClient({ jsonrpc: '2.0', id: 3, method: 'tools/call', params: { name: 'write' } });
    await session.fromServer({ jsonrpc: '2.0', id: 3, result: { content: [] } });
    await session.end('success');
    await lens.shutdown();
    assert.equal(platform.runs.length, 1);
    assert.deepEqual(
      platform.eventsOf('mcp.tool_definition').map(({ data }) => data.tool),
      ['write'],
    );
  });
});
