import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { localHost } from './local-host.ts';
import { shellSandbox } from './shell-sandbox.ts';

/** Bubblewrap is not on every machine, and not every container supports it. */
const hasSandbox = (() => {
  try {
    shellSandbox({ folder: tmpdir(), network: false });
    return true;
  } catch {
    return false;
  }
})();

let root: string;
let secret: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'agent-sandbox-'));
  secret = join(homedir(), `.agent-sandbox-${process.pid}`);
});
afterEach(async () => {
  await rm(root, { recursive: true, force: true });
  await rm(secret, { force: true });
});

const run = (command: string, { network = false, signal = new AbortController().signal } = {}) =>
  localHost({ root, shell: { sandbox: 'required', network } }).shell.run({
    ...{ command, signal, timeoutMs: 20_000, maxChars: 10_000 },
  });

(hasSandbox ? describe : describe.skip)("the shell in the operating system's sandbox", () => {
  it('writes only to its folder', async () => {
    const elsewhere = join(tmpdir(), `agent-sandbox-escape-${process.pid}`);
    const { output } = await run(`echo in > a; echo out > ${elsewhere}; echo out > /etc/x; cat a; pwd`);
    expect(output).toContain('in\n');
    expect(output).toContain(root);
    expect(await readFile(join(root, 'a'), 'utf8')).toBe('in\n');
    expect(existsSync(elsewhere)).toBe(false);
    expect(existsSync('/etc/x')).toBe(false);
  });

  it('sees nothing of the home folder', async () => {
    await writeFile(secret, 'hidden');
    const { output, exitCode } = await run(`cat ${secret}`);
    expect(exitCode).not.toBe(0);
    expect(output).not.toContain('hidden');
  });

  it('confines programs started by any means', async () => {
    await writeFile(secret, 'kept');
    await run(`awk 'BEGIN{system("rm ${secret}")}'; env -S 'rm ${secret}'; sh -c 'rm ${secret}'`);
    expect(await readFile(secret, 'utf8')).toBe('kept');
  });

  it('reaches the network only if allowed', async () => {
    const server = createServer((_, response) => response.end('served'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const ask = `exec 3<>/dev/tcp/127.0.0.1/${port} && printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3 && cat <&3`;
    try {
      expect((await run(ask)).output).not.toContain('served');
      expect((await run(ask, { network: true })).output).toContain('served');
    } finally {
      await new Promise((resolve) => server.close(resolve));
    }
  });

  it('ends its processes when it is stopped', async () => {
    const stop = new AbortController();
    const host = localHost({ root, shell: { sandbox: 'required' } });
    const running = host.shell.run({
      ...{ command: 'echo begun; sleep 600', signal: stop.signal, timeoutMs: 60_000, maxChars: 100 },
      onOutput: () => stop.abort(new Error('stopped')),
    });
    await expect(running).rejects.toThrow('stopped');
  });
});

describe('a system without a sandbox', () => {
  it('does not open the shell if the sandbox is required', () => {
    expect(() => shellSandbox({ folder: root, network: false }, 'win32')).toThrow(
      expect.objectContaining({ code: 'denied_by_host' }),
    );
  });
});
