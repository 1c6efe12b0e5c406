import { runProgram } from '../harness/program.ts';
import { HELP, parseOptions } from './options.ts';

await runProgram({ help: HELP, parse: parseOptions, load: () => import('./run.ts') });
// A fault may leave a timer or a frozen socket behind; nothing of it is worth waiting for.
process.exit();
