// `npm start`: sets the options of Node and the C library for one process with all services, and becomes that process.
// If a process cannot replace itself (Windows), starts a child and forwards signals to it.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const words = (file) =>
  readFileSync(new URL(file, import.meta.url), 'utf8')
    .split(/\s+/)
    .filter((word) => word !== '');

const script = fileURLToPath(new URL('./start.mjs', import.meta.url));
const args = [...words('./node-options.standalone'), script, '--packages', ...process.argv.slice(2)];
const malloc = Object.fromEntries(words('./malloc-options.standalone').map((word) => word.split('=', 2)));
const env = { ...process.env, ...malloc };

if (process.platform !== 'win32') process.execve?.(process.execPath, [process.execPath, ...args], env);
const child = spawn(process.execPath, args, { stdio: 'inherit', env });
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
child.once('exit', (code, signal) => process.exit(signal === null ? (code ?? 1) : 1));
