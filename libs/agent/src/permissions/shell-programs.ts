import type { Argv } from './shell-command.ts';

const SHELLS = new Set(['sh', 'bash', 'dash', 'zsh', 'ksh', 'mksh', 'ash', 'fish', 'rbash', 'busybox']);
const INTERPRETERS = new Set(
  'python python2 python3 perl ruby node nodejs deno bun php lua awk gawk mawk tclsh osascript'.split(' '),
);
/** Programs that run a command given in their arguments. */
export const WRAPPERS: ReadonlySet<string> = new Set(
  (
    'env sudo doas su xargs timeout nice ionice nohup command builtin exec time find fd stdbuf setsid chroot watch ' +
    'parallel strace ltrace unshare nsenter script flock coproc trap ssh npx bunx pnpx uvx busybox taskset chrt ' +
    'setpriv runuser systemd-run caffeinate entr proxychains4 rlwrap toybox'
  ).split(' '),
);
/** Their first argument decides nothing: any later one may be a program. */
const RUNS_ARGUMENTS = new Set([...WRAPPERS, ...SHELLS, 'eval', 'source', '.']);
/** Programs that never start another program. Everything else may. */
const LEAVES: ReadonlySet<string> = new Set(
  (
    ': [ basename base32 base64 cat cd chgrp chmod chown cksum cmp comm cp cut date dd df diff dirname du echo egrep ' +
    'exit expand expr false fgrep file fmt fold grep head hexdump hostname id jq join link ln ls md5sum mkdir mkfifo ' +
    'mktemp mv nl nproc numfmt od paste pathchk pr printenv printf ps pwd readlink realpath rm rmdir seq sha1sum ' +
    'sha224sum sha256sum sha384sum sha512sum shred shuf sleep stat strings sum sync tac tail tee test touch tr tree ' +
    'true truncate tsort tty type uname unexpand uniq unlink uptime wait wc whereis which who whoami xxd yes'
  ).split(' '),
);
/** Where a system keeps the programs of these names; elsewhere a name proves nothing. */
const SYSTEM_FOLDERS: ReadonlySet<string> = new Set([
  '',
  '/bin/',
  '/usr/bin/',
  '/usr/local/bin/',
  '/opt/homebrew/bin/',
]);
/** Programs that only run the program in their arguments, if their options are known. */
const TRANSPARENT: ReadonlySet<string> = new Set(
  'env xargs timeout nice ionice nohup command builtin exec time stdbuf setsid'.split(' '),
);
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

/**
 * What a command starts, as far as its words show: itself if it starts nothing else, or the program behind a wrapper.
 * `unknown` for every program that can start others in ways that are not parsed here.
 */
export function startedBy(argv: Argv): readonly Argv[] | 'unknown' {
  const [program, ...words] = argv;
  if (program === undefined || program === null) return 'unknown';
  const name = baseName(program);
  if (!SYSTEM_FOLDERS.has(program.slice(0, program.length - name.length))) return 'unknown';
  if (LEAVES.has(name)) return [];
  // GNU sort accepts `--compress-program` by any prefix.
  if (name === 'sort') return words.some((word) => word === null || word.startsWith('--c')) ? 'unknown' : [];
  if (name === 'find') return startedByFind(words);
  if (!TRANSPARENT.has(name)) return 'unknown';
  const at = words.findIndex((word) => word === null || !isSetting(word));
  if (at === -1) return [];
  const before = words.slice(0, at);
  // `env -S` splits a text into a command, and a variable such as LD_PRELOAD loads other code.
  return name === 'env' && before.some((word) => word !== '-i' && word !== '-') ? 'unknown' : [words.slice(at)];
}

/** An option, a number or a duration before the program that a wrapper runs. */
function isSetting(word: string): boolean {
  return /^(?:-.*|[+]?\d+(?:\.\d+)?[smhd]?)$/.test(word) || /^[A-Za-z_]\w*=/.test(word);
}

function startedByFind(words: Argv): readonly Argv[] | 'unknown' {
  if (words.includes(null)) return 'unknown';
  const started: Argv[] = [];
  for (const [at, word] of words.entries()) {
    if (word === null || !/^-(?:exec|ok)(?:dir)?$/.test(word)) continue;
    const rest = words.slice(at + 1);
    const end = rest.findIndex((one) => one === ';' || one === '+');
    started.push(end === -1 ? rest : rest.slice(0, end));
  }
  return started;
}

/** Shell scripts among the arguments of a program; `opaque` if it would run something that cannot be parsed here. */
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
    // A shell without a script reads its commands from the pipe.
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
  if (RUNS_ARGUMENTS.has(name)) return `"${name}" runs any program that its arguments name`;
  if (isInterpreter(name) && (second === undefined || OPTIONS_WITH_CODE.test(second)))
    return `"${name}" runs any code; name the script as well`;
  return null;
}
