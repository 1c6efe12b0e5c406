import type { Argv } from './shell-command.ts';

const SHELLS = new Set(['sh', 'bash', 'dash', 'zsh', 'ksh', 'mksh', 'ash', 'fish', 'rbash', 'busybox']);
const INTERPRETERS = new Set(
  'python python2 python3 perl ruby node nodejs deno bun php lua awk gawk mawk tclsh osascript'.split(' '),
);
/** They run the command that is among their arguments. */
export const WRAPPERS: ReadonlySet<string> = new Set(
  (
    'env sudo doas su xargs timeout nice ionice nohup command builtin exec time find fd stdbuf setsid chroot watch ' +
    'parallel strace ltrace unshare nsenter script flock coproc trap ssh npx bunx pnpx uvx busybox taskset chrt ' +
    'setpriv runuser systemd-run caffeinate entr proxychains4 rlwrap toybox'
  ).split(' '),
);
/** Their first argument decides nothing: whatever follows may be a program. */
const RUNS_ARGUMENTS = new Set([...WRAPPERS, ...SHELLS, 'eval', 'source', '.']);
const OPTIONS_WITH_CODE = /^-{1,2}(?:[A-Za-z]*[ceEr]|eval|print|execute|command|code)$/;

export function baseName(program: string): string {
  return program.slice(program.lastIndexOf('/') + 1);
}

export function isShell(name: string): boolean {
  return SHELLS.has(name);
}

export function isInterpreter(name: string): boolean {
  return INTERPRETERS.has(name) || /^python\d/.test(name);
}

/** Shell scripts among the arguments of a program; `opaque` when it would run what cannot be read here. */
export function inlineScriptsOf(name: string, argv: Argv): readonly (string | null)[] | 'opaque' {
  const words = argv.slice(1);
  if (name === 'eval') return [words.includes(null) ? null : words.join(' ')];
  if (isInterpreter(name)) {
    const code = words.some((word) => word !== null && OPTIONS_WITH_CODE.test(word));
    return code || words.length === 0 || words[0] === '-' ? 'opaque' : [];
  }
  if (isShell(name)) {
    const at = words.findIndex((word) => word !== null && /^-[A-Za-z]*c[A-Za-z]*$/.test(word));
    if (at !== -1) return [words.slice(at + 1).find((word) => word === null || !word.startsWith('-')) ?? null];
    // A shell without a script reads its commands from whatever stands before the pipe.
    return words.every((word) => word?.startsWith('-') === true) ? 'opaque' : [];
  }
  return name === 'ssh' ||
    name === 'su' ||
    name === 'watch' ||
    name === 'trap' ||
    name === 'script' ||
    name === 'parallel'
    ? words.filter((word) => word === null || /\s/.test(word))
    : [];
}

/** Why a prefix must not be allowed: it would allow every program. Null if it may. */
export function refusePrefix(words: readonly string[]): string | null {
  const [program, second] = words;
  if (program === undefined) return 'it is empty';
  const name = baseName(program);
  if (RUNS_ARGUMENTS.has(name)) return `"${name}" runs whatever its arguments name`;
  if (isInterpreter(name) && (second === undefined || OPTIONS_WITH_CODE.test(second)))
    return `"${name}" runs any code; name the script as well`;
  return null;
}
