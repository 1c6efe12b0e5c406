import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import type { JsonRecord } from '../src/hosts/host.ts';
import { HOSTS } from '../src/hosts/index.ts';
import { pluginText } from '../src/install/opencode-plugin.ts';
import { pathsIn } from '../src/state.ts';

type Hook = (input: unknown, output?: unknown) => Promise<void>;
type Plugin = (context: { readonly directory: string }) => Promise<Readonly<Record<string, Hook>>>;

void describe('the plugin of OpenCode', () => {
  let folder = '';
  let server: Server;
  let hooks: Readonly<Record<string, Hook>>;
  const sent: [string, JsonRecord][] = [];

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'guard-opencode-'));
    const paths = pathsIn(folder, folder);
    server = createServer((incoming, outgoing) => {
      let body = '';
      incoming.setEncoding('utf8');
      incoming.on('data', (part: string) => {
        body += part;
      });
      incoming.on('end', () => {
        sent.push([incoming.url ?? '', JSON.parse(body) as JsonRecord]);
        outgoing.end('{}');
      });
    });
    await new Promise<void>((resolve) => {
      server.listen(paths.socket, resolve);
    });
    const file = join(folder, 'plugin.mjs');
    writeFileSync(file, pluginText(paths, { mode: 'enforce', fail: 'closed', wait: 5 }, ['/nowhere']));
    const { AgentLensGuard } = (await import(pathToFileURL(file).href)) as { AgentLensGuard: Plugin };
    hooks = await AgentLensGuard({ directory: '/project' });
  });
  after(() => {
    server.close();
    rmSync(folder, { recursive: true });
  });
  beforeEach(() => sent.splice(0));

  const part = (status: string, more: object) => ({
    event: {
      type: 'message.part.updated',
      properties: {
        part: {
          type: 'tool',
          sessionID: 's1',
          callID: 'c1',
          tool: 'edit',
          state: { status, input: { filePath: 'a' }, ...more },
        },
      },
    },
  });

  void it('reports a tool that failed once, which no other event does', async () => {
    await hooks.event?.(part('running', {}));
    await hooks.event?.(part('error', { error: 'no such file\nstack' }));
    await hooks.event?.(part('error', { error: 'no such file\nstack' }));
    assert.deepEqual(
      sent.map(([path]) => path),
      ['/opencode/failed'],
    );
    const event = HOSTS.opencode.read('failed', sent[0]?.[1] ?? {});
    assert.deepEqual(event?.use, { name: 'edit', input: { filePath: 'a' }, id: 'c1', mcp: undefined });
    assert.deepEqual(event?.outcome, { ok: false, error: 'no such file' });
  });

  void it('refuses a call if another user may change the folder of its socket', async () => {
    chmodSync(folder, 0o777);
    try {
      await assert.rejects(
        async () => hooks['tool.execute.before']?.({ sessionID: 's1', tool: 'bash', callID: 'c2' }, { args: {} }),
        /another user owns or may change/,
      );
    } finally {
      chmodSync(folder, 0o700);
    }
  });
});
