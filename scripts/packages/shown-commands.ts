import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A command that a reader may paste, and the file that shows it. */
export interface ShownCommand {
  readonly file: string;
  readonly command: string;
}

/** Pages, and sources that print commands. */
const FILES = /(^README\.md|^docs\/.*\.md|^python\/README\.md|README\.md|^integrations\/js\/examples\/.*\.mjs)$/;
const NOT_OURS = /(^|\/)(adr|CHANGELOG|node_modules|guard-hosts|interop|proof|bench)(\/|\.|$)/;
const COMMAND =
  /(?:npx|pnpm (?:add|dlx)|yarn (?:add|dlx)|npm (?:install|i|exec)|pip install|uv (?:pip install|add|tool run)|uvx|pipx (?:run|install)) +[^`|\n][^`\n]*/g;

/** Every install and npx command of README, documentation and examples. */
export function collectCommands(root: string): ShownCommand[] {
  const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { cwd: root, encoding: 'utf8' })
    .split('\n')
    .filter((file) => FILES.test(file) && !NOT_OURS.test(file));
  return files.flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(COMMAND)].map(([found]) => ({
      file,
      command: found.split(/\s+(?:#|\||&&|\()/, 1)[0]?.trim() ?? '',
    })),
  );
}
