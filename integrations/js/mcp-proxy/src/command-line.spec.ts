import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readCommand } from './command-line.ts';

const ENV = { AGENTLENS_API_KEY: 'agk_x' };
const NAMED = ['--server', 'files', '--agent', 'desk'];

void describe('the command line of the proxy', () => {
  void it('takes the server to start after --', () => {
    const { server, lens, how, waits } = readCommand([...NAMED, '--', 'node', 'server.js', '--verbose'], ENV);
    assert.deepEqual([server, lens.agent.slug, lens.baseUrl, waits], ['files', 'desk', 'http://127.0.0.1:3400', true]);
    assert.deepEqual(how, { kind: 'stdio', command: ['node', 'server.js', '--verbose'] });
  });

  void it('takes an address to listen at, with a server behind it, on this machine unless told', () => {
    const { how } = readCommand([...NAMED, '--listen', '3410', '--upstream', 'https://mcp.example.com/mcp'], ENV);
    assert.ok(how.kind === 'http');
    assert.deepEqual([how.host, how.port, how.upstream.href], ['127.0.0.1', 3410, 'https://mcp.example.com/mcp']);
  });

  void it('takes tags by the name that rules know', () => {
    const { tags } = readCommand([...NAMED, '--tag', 'write=destructive,disk', '--', 'node'], ENV);
    assert.deepEqual(tags, { 'files.write': ['destructive', 'disk'] });
  });

  for (const [what, args, env, message] of [
    ['a name of the server', ['--agent', 'desk', '--', 'node'], ENV, /--server <name>/],
    ['an agent', ['--server', 'files', '--', 'node'], ENV, /--agent <slug>/],
    ['a key', [...NAMED, '--', 'node'], {}, /AGENTLENS_API_KEY/],
    ['a command', NAMED, ENV, /the server's command/],
    ['a known fail mode', [...NAMED, '--fail-mode', 'shut', '--', 'node'], ENV, /open or closed, not shut/],
    ['options that exist', [...NAMED, '--failmode', 'closed', '--', 'node'], ENV, /--failmode/],
    ['a URL behind it', [...NAMED, '--listen', '1', '--upstream', 'nowhere'], ENV, /http\(s\) URL/],
    ['a variable that is set', [...NAMED, '--env', 'TOKEN', '--', 'node'], ENV, /TOKEN: this variable is not set/],
    ['no key of its own for the server', [...NAMED, '--env', 'AGENTLENS_API_KEY', '--', 'node'], ENV, /gets no key/],
    ['tags with a tool', [...NAMED, '--tag', 'destructive', '--', 'node'], ENV, /<tool>=<a,b>/],
  ] as const)
    void it(`wants ${what}, and says so`, () => {
      assert.throws(() => readCommand(args, env), message);
    });
});
