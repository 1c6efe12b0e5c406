// The first import of every script. The platform needs Node 24.9 or newer. An older Node runs the script with the Node
// that `npm ci` installed in node_modules, so the version on the machine does not matter.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 24 || (major === 24 && minor < 9)) {
  const program = process.platform === 'win32' ? 'node.exe' : 'bin/node';
  const system = process.platform === 'win32' ? 'win' : process.platform;
  const bundled = fileURLToPath(new URL(`../node_modules/node-${system}-${process.arch}/${program}`, import.meta.url));
  if (!existsSync(bundled) || process.env.AGENTLENS_NODE_HANDED_OVER === 'yes') {
    console.error(`AgentLens needs Node >= 24.9, found ${process.version}.`);
    console.error('On Linux, Windows and Intel Macs "npm ci" installs the right Node. Elsewhere, install Node 24.');
    process.exit(1);
  }
  const child = spawn(bundled, process.argv.slice(1), {
    stdio: 'inherit',
    env: { ...process.env, AGENTLENS_NODE_HANDED_OVER: 'yes' },
  });
  // The child may receive it twice if the terminal signals it too. This process stays until the child has drained.
  process.on('SIGINT', () => child.kill('SIGINT'));
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  const code = await new Promise((resolve) => {
    child.once('error', (error) => {
      console.error(
        `AgentLens needs Node >= 24.9, found ${process.version}; ${bundled} does not run: ${error.message}`,
      );
      resolve(1);
    });
    child.once('exit', (status, signal) => resolve(signal === null ? (status ?? 1) : 1));
  });
  process.exit(code);
}
delete process.env.AGENTLENS_NODE_HANDED_OVER;
