import { runProgram } from '../harness/program.ts';
import { HELP, parseOptions } from './options.ts';

await runProgram({ help: HELP, parse: parseOptions, load: () => import('./run.ts') });
// A test may leave a timer or a frozen socket behind, which must not delay the exit.
process.exit();
