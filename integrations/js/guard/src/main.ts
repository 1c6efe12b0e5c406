import { runHook } from './hook.ts';

/* Entry point of the slow path of a hook and of the resident. */

runHook(process.argv.slice(2), process.env, process.argv[1] ?? '').then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    process.stderr.write(`agentlens-hook: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 2;
  },
);
