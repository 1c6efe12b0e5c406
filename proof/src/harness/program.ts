import { fileURLToPath } from 'node:url';
import { build } from './build.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

interface Program<O> {
  readonly help: string;
  /** @throws where they cannot be understood, with what to say of it */
  readonly parse: (argv: readonly string[]) => O;
  /** Called when everything is built, which what it imports may need. */
  readonly load: () => Promise<{ readonly run: (root: string, options: O) => Promise<boolean> }>;
}

/** A program that is run from a checkout on what that checkout builds; its exit code says whether all was well. */
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
    // What Node says beyond the first sentence is about arguments that begin with a dash.
    const [what] = (error as Error).message.split('. ');
    throw new Error(`${what}; --help names what there is`);
  }
}
