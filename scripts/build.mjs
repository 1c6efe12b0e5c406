import './require-node.mjs';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Compiles what is missing or has changed, and shows the progress. An up-to-date tree takes half a second. */
export async function build() {
  const compiler = compilerPath();
  if (compiler === null) {
    if (existsSync(join(root, 'services/standalone/dist/main.js'))) return;
    throw new Error('Nothing is built, and the compiler is not installed. Run: npm ci');
  }
  const started = performance.now();
  const progress = progressLine();
  const complaints = [];
  const child = spawn(process.execPath, [compiler, '--build', '--verbose', '--pretty', 'false'], { cwd: root });
  child.stderr.pipe(process.stderr);
  for await (const line of createInterface({ input: child.stdout })) {
    const project = /Building project '(.+?)\/?tsconfig\.json'/.exec(line)?.[1];
    if (project !== undefined) progress.show(`building ${project}`);
    else if (!/^(\[?\d+:\d+:\d+|\s*$|\s+\*)/.test(line)) complaints.push(line);
  }
  const code = child.exitCode ?? (await new Promise((resolve) => child.once('exit', resolve)));
  progress.end(`built in ${((performance.now() - started) / 1000).toFixed(1)} s`);
  if (code !== 0) throw new Error(`The build failed:\n${complaints.join('\n')}`);
}

function compilerPath() {
  try {
    const manifest = createRequire(import.meta.url).resolve('typescript/package.json');
    return join(dirname(manifest), 'bin/tsc');
  } catch {
    return null;
  }
}

/** One line that is rewritten on a terminal, plain lines elsewhere. Silent if there is nothing to do. */
function progressLine() {
  const { stdout } = process;
  let shown = false;
  return {
    show(text) {
      shown = true;
      stdout.write(stdout.isTTY ? `\r\u001b[2K${text}` : `${text}\n`);
    },
    end(text) {
      if (shown) stdout.write(stdout.isTTY ? `\r\u001b[2K${text}\n` : `${text}\n`);
    },
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    await build();
  } catch (error) {
    console.error(error.message);
    process.exit(1);
  }
}
