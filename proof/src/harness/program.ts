import { fileURLToPath } from 'node:url';
import { build } from './build.ts';

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
