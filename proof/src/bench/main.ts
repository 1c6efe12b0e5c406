import { runProgram } from '../harness/program.ts';
import { HELP, parseOptions } from './options.ts';

await runProgram({ help: HELP, parse: parseOptions, load: () => import('./run.ts') });
