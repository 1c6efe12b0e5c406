import { spawn } from 'node:child_process';
import { dirname } from 'node:path';

/** Compiles what has changed. */
export async function build(root: string): Promise<void> {
  await inherited(process.execPath, ['scripts/build.mjs'], root);
}

/** Runs a command with its output shown. @throws if it fails */
export function inherited(command: string, args: readonly string[], cwd: string): Promise<void> {
  const child = spawn(command, args, {
    cwd,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH ?? ''}` },
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => {
      if (code === 0) resolve();
      else reject(new Error(`${command} ${args.join(' ')} failed in ${cwd} (exit ${code})`));
    });
  });
}
