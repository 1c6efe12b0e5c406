import { fileURLToPath } from 'node:url';
import { build } from '../bench/checkout.ts';
import { HELP, parseOptions } from './options.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

try {
  const options = parseOptions(process.argv.slice(2));
  if (options.help) {
    console.log(HELP);
  } else {
    await build(ROOT);
    // Only now: it imports what was just built.
    const { run } = await import('./run.ts');
    if (!(await run(ROOT, options))) process.exitCode = 1;
  }
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
// A fault may leave a timer or a frozen socket behind; nothing of it is worth waiting for.
process.exit();
