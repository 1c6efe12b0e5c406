import { spawn } from 'node:child_process';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

interface Program<O> {
  readonly help: string;
  /** @throws an error with a message for the user if the arguments are invalid */
  readonly parse: (argv: readonly string[]) => O;
  /** Called after the build, because the module may import built code. */
  readonly load: () => Promise<{ readonly run: (root: string, options: O) => Promise<boolean> }>;
}

/** Runs a program of a checkout on the build of that checkout. The exit code is 0 if everything passed. */
export async function runProgram<O extends { readonly help: boolean }>(program: Program<O>): Promise<void> {
  try {
    const options = optionsOf(program);
    if (options.help) {
      console.log(program.help);
      return;
    }
    await build(ROOT);
    const { run } = await program.load();
    if (!(await run(ROOT, options))) process.exitCode = 1;
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}

function optionsOf<O>({ parse }: Pick<Program<O>, 'parse'>): O {
  try {
    return parse(process.argv.slice(2));
  } catch (error) {
    // Node's further sentences are about arguments that begin with a dash.
    const [what] = (error as Error).message.split('. ');
    throw new Error(`${what}; --help lists the options`);
  }
}

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

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const INTERRUPTED = 130;

/**
 * Cleans up before an interrupted program exits. Returns a function that cancels this. A second signal exits at once.
 */
export function whenInterrupted(cleanUp: () => Promise<void>): () => void {
  let interrupted = false;
  const onSignal = () => {
    if (interrupted) process.exit(INTERRUPTED);
    interrupted = true;
    console.error('interrupted, stopping the servers');
    void cleanUp().finally(() => process.exit(INTERRUPTED));
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return () => {
    for (const signal of SIGNALS) process.off(signal, onSignal);
  };
}
