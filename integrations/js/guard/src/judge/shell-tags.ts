import { basename } from 'node:path';
import { type ShellCommand, shellCommands } from './shell-words.ts';

/** What a shell line does, as far as it can be read. */
export interface ShellFindings {
  readonly tags: ReadonlySet<string>;
  /** Paths that are written, removed or moved. */
  readonly writes: readonly string[];
  /** Every word that may be a path. */
  readonly paths: readonly string[];
}

/** Commands that run another command given as their words, and how many of their own words come first. */
const WRAPPERS: ReadonlyMap<string, readonly string[]> = new Map<string, readonly string[]>([
  // Options of the wrapper that take a value.
  ['sudo', ['-u', '-g', '-h', '-p', '-C', '-T', '-D', '-R']],
  ['doas', ['-u', '-C']],
  ['env', ['-u', '-C', '-S']],
  ['nice', ['-n']],
  ['ionice', ['-c', '-n', '-p']],
  ['nohup', []],
  ['time', ['-f', '-o']],
  ['timeout', ['-s', '-k']],
  ['stdbuf', ['-i', '-o', '-e']],
  ['setsid', []],
  ['command', []],
  ['builtin', []],
  ['exec', ['-a']],
  ['xargs', ['-I', '-n', '-P', '-L', '-d', '-E', '-s', '-a']],
  ['then', []],
  ['do', []],
  ['else', []],
  ['if', []],
  ['while', []],
  ['!', []],
  ['{', []],
]);

const SHELLS = /^(?:ba|z|k|da|fi)?sh$|^pwsh$|^powershell$/;
const INTERPRETERS = /^(?:python[\d.]*|node|nodejs|deno|bun|ruby|perl|php|lua|irb|psql|mysql|sqlite3)$/;
const NETWORK =
  /^(?:curl|wget|ssh|scp|sftp|rsync|nc|ncat|netcat|telnet|ftp|socat|http|https|httpie|aria2c|ping|dig|nslookup)$/;
const CODE_FLAGS = /^(?:-c|-e|-E|-r|-p|-pe|--eval|--print|-Command|-EncodedCommand|-enc)$/;
const MAX_LEVELS = 3;

export function shellFindings(line: string): ShellFindings {
  const found = { tags: new Set(['shell']), writes: [] as string[], paths: [] as string[] };
  judgeLine(line, found, 0);
  if (/\/dev\/(?:tcp|udp)\//.test(line) || /\b(?:https?|ftp|wss?|git|ssh):\/\//i.test(line)) found.tags.add('network');
  if (/\b(?:DROP\s+(?:TABLE|DATABASE|SCHEMA)|TRUNCATE\s+TABLE|DELETE\s+FROM)\b/i.test(line))
    found.tags.add('destructive');
  return found;
}

type Collected = { readonly tags: Set<string>; readonly writes: string[]; readonly paths: string[] };

function judgeLine(line: string, found: Collected, level: number): void {
  if (level > MAX_LEVELS) {
    found.tags.add('opaque');
    return;
  }
  for (const command of shellCommands(line)) judgeCommand(command, found, level);
}

function judgeCommand(command: ShellCommand, found: Collected, level: number): void {
  const { tags } = found;
  if (command.opaque) tags.add('opaque');
  found.writes.push(...command.writes);
  found.paths.push(...command.reads, ...command.writes);
  const words = unwrapped(command.words, tags);
  const [first = ''] = words;
  const name = basename(first).replace(/\.exe$/i, '');
  const args = words.slice(1);
  // A command that is itself a variable or a substitution is unknown.
  if (/[$`]/.test(first)) tags.add('opaque');
  found.paths.push(...args.filter((word) => !word.startsWith('-')));
  // Substitutions inside double quotes run too.
  for (const word of words) for (const inner of substitutionsIn(word)) judgeLine(inner, found, level + 1);
  if (name === '') return;
  judgeShells(name, args, command, found, level);
  if (NETWORK.test(name)) tags.add('network');
  if (isPublishing(name, args)) tags.add('publish').add('network');
  if (isDestructive(name, args)) tags.add('destructive');
  if (isRemote(name, args)) tags.add('network');
  found.writes.push(...writtenBy(name, args));
}

function judgeShells(name: string, args: readonly string[], command: ShellCommand, found: Collected, level: number) {
  const { tags } = found;
  const plain = args.filter((word) => !word.startsWith('-'));
  if (name === 'eval' || name === 'source' || name === '.') {
    tags.add('opaque');
    if (name === 'eval') judgeLine(args.join(' '), found, level + 1);
  }
  if (name === 'base64' && args.some((word) => /^(?:-d|-D|--decode)$/.test(word))) tags.add('opaque');
  if (SHELLS.test(name)) {
    const flag = args.findIndex((word) => /^-[a-z]*c$/.test(word));
    if (flag !== -1) judgeLine(args[flag + 1] ?? '', found, level + 1);
    else if (command.piped || plain.length > 0 || command.reads.length > 0) tags.add('opaque');
    else tags.add('interactive');
    return;
  }
  if (name === 'ssh' && plain.length < 2) tags.add('interactive');
  if (!INTERPRETERS.test(name)) return;
  if (args.some((word) => CODE_FLAGS.test(word)) || command.piped) tags.add('opaque');
  else if (plain.length === 0 && !args.some((word) => /^(?:--?v(?:ersion)?|-V|--help|-h|--test)$/.test(word)))
    tags.add('interactive');
}

/** Removes the commands that only start another one. */
function unwrapped(words: readonly string[], tags: Set<string>): readonly string[] {
  let rest = words;
  for (let count = 0; count < 10; count++) {
    const name = basename(rest[0] ?? '');
    const valued = WRAPPERS.get(name);
    if (valued === undefined) return rest;
    if (name === 'sudo' || name === 'doas') tags.add('elevated');
    let at = 1;
    while (at < rest.length) {
      const word = rest[at] ?? '';
      if (valued.includes(word)) at += 2;
      else if (word.startsWith('-') || /^\w+=/.test(word) || (name === 'timeout' && /^[\d.]+[smhd]?$/.test(word))) at++;
      else break;
    }
    rest = rest.slice(at);
  }
  return rest;
}

function substitutionsIn(word: string): string[] {
  return [...word.matchAll(/\$\(([^()]*)\)|`([^`]*)`/g)].map(([, one, other]) => one ?? other ?? '');
}

/** The words of a command that are no options: `git -C x push` gives `push`. */
function verbsOf(args: readonly string[], valued: readonly string[]): string[] {
  const verbs: string[] = [];
  for (let at = 0; at < args.length; at++) {
    const word = args[at] ?? '';
    if (valued.includes(word)) at++;
    else if (!word.startsWith('-')) verbs.push(word);
  }
  return verbs;
}

const GIT_VALUED = ['-C', '-c', '--git-dir', '--work-tree', '--namespace'];

function isPublishing(name: string, args: readonly string[]): boolean {
  const [verb = '', noun = ''] = verbsOf(args, name === 'git' ? GIT_VALUED : []);
  switch (name) {
    case 'git':
      return verb === 'push' || verb === 'send-email';
    case 'npm':
    case 'pnpm':
    case 'yarn':
    case 'bun':
      return verb === 'publish' || (verb === 'npm' && noun === 'publish');
    case 'cargo':
    case 'poetry':
    case 'uv':
    case 'gem':
    case 'flit':
      return verb === 'publish' || (name === 'gem' && verb === 'push');
    case 'twine':
      return verb === 'upload';
    case 'gh':
      return (
        ['pr', 'release', 'issue', 'gist', 'repo', 'workflow'].includes(verb) &&
        !['list', 'view', 'status', 'diff', 'checks', 'checkout', 'clone'].includes(noun)
      );
    case 'glab':
      return verb === 'mr' || verb === 'release';
    case 'docker':
    case 'podman':
    case 'helm':
    case 'oras':
      return verb === 'push' || (name === 'helm' && (verb === 'install' || verb === 'upgrade'));
    case 'kubectl':
    case 'oc':
      return ['apply', 'create', 'replace', 'patch', 'set', 'rollout', 'scale', 'delete', 'edit'].includes(verb);
    case 'terraform':
    case 'tofu':
    case 'pulumi':
      return ['apply', 'destroy', 'up', 'import'].includes(verb);
    case 'vercel':
    case 'netlify':
    case 'fly':
    case 'flyctl':
    case 'wrangler':
    case 'heroku':
      return /deploy|publish|prod/.test(args.join(' '));
    default:
      return false;
  }
}

const short = (args: readonly string[], letter: string) =>
  args.some((word) => new RegExp(`^-[A-Za-z]*${letter}[A-Za-z]*$`).test(word));
const has = (args: readonly string[], ...options: readonly string[]) =>
  args.some((word) => options.some((option) => word === option || word.startsWith(`${option}=`)));

function isDestructive(name: string, args: readonly string[]): boolean {
  const verbs = verbsOf(args, name === 'git' ? GIT_VALUED : []);
  const [verb = ''] = verbs;
  if (/^mkfs/.test(name)) return true;
  switch (name) {
    case 'rm':
      return short(args, '[rRf]') || has(args, '--recursive', '--force');
    case 'rmdir':
      return has(args, '--parents');
    case 'shred':
    case 'wipefs':
    case 'fdisk':
    case 'parted':
    case 'truncate':
    case 'dropdb':
      return true;
    case 'dd':
      return args.some((word) => word.startsWith('of='));
    case 'chmod':
    case 'chown':
    case 'chgrp':
      return short(args, 'R') || has(args, '--recursive');
    case 'find':
      return has(args, '-delete') || (has(args, '-exec', '-execdir') && args.some((word) => basename(word) === 'rm'));
    case 'rsync':
      return args.some((word) => word.startsWith('--delete'));
    case 'git':
      return (
        (verb === 'reset' && has(args, '--hard')) ||
        (verb === 'clean' && (short(args, 'f') || has(args, '--force'))) ||
        (verb === 'push' &&
          (has(args, '--force', '--force-with-lease', '--delete', '--mirror') ||
            short(args, '[fd]') ||
            verbs.some((word) => word.startsWith('+') || word.startsWith(':')))) ||
        (verb === 'branch' && short(args, 'D')) ||
        (verb === 'checkout' && (has(args, '--force') || short(args, 'f') || has(args, '--'))) ||
        verb === 'filter-branch' ||
        (verb === 'stash' && ['drop', 'clear'].includes(verbs[1] ?? ''))
      );
    case 'docker':
    case 'podman':
      return verbs.includes('prune') || (verbs.includes('rm') && (short(args, '[fv]') || verb === 'volume'));
    case 'kubectl':
    case 'oc':
      return verb === 'delete' || verb === 'drain';
    case 'terraform':
    case 'tofu':
    case 'pulumi':
      return verb === 'destroy' || has(args, '-destroy');
    case 'aws':
    case 'gcloud':
    case 'az':
    case 'gh':
    case 'heroku':
    case 'fly':
      return verbs.some((word) => /^(?:delete|destroy|rm|rb|purge|terminate|remove)(?:-|$|:)/.test(word));
    case 'kill':
    case 'killall':
    case 'pkill':
      return verbs.includes('-1') || args.includes('-1');
    case 'npm':
      return verb === 'unpublish';
    default:
      return false;
  }
}

/** Commands of tools that reach a registry or a remote. */
function isRemote(name: string, args: readonly string[]): boolean {
  const [verb = ''] = verbsOf(args, name === 'git' ? GIT_VALUED : []);
  if (name === 'git') return ['clone', 'fetch', 'pull', 'ls-remote', 'submodule'].includes(verb);
  if (/^(?:npm|pnpm|yarn|bun|pip|pip3|uv|cargo|gem|go|apt|apt-get|brew|dnf|apk)$/.test(name))
    return /^(?:install|i|add|ci|update|upgrade|get|download|fetch|x|dlx)$/.test(verb);
  return /^(?:npx|pnpx|bunx|uvx|aws|gcloud|az|gh|glab)$/.test(name);
}

/** Paths that a command changes. */
function writtenBy(name: string, args: readonly string[]): string[] {
  const plain = args.filter((word) => !word.startsWith('-'));
  switch (name) {
    case 'rm':
    case 'rmdir':
    case 'tee':
    case 'touch':
    case 'mkdir':
    case 'truncate':
    case 'shred':
      return plain;
    case 'mv':
      return plain;
    case 'cp':
    case 'ln':
    case 'install':
    case 'rsync':
    case 'scp': {
      const at = args.findIndex((word) => word === '-t' || word === '--target-directory');
      return [at === -1 ? plain.at(-1) : args[at + 1]].filter((path) => path !== undefined);
    }
    case 'chmod':
    case 'chown':
      return plain.slice(1);
    case 'sed':
    case 'perl':
      return short(args, 'i') || has(args, '--in-place') ? plain.slice(name === 'sed' ? 1 : 0) : [];
    case 'dd':
      return args.flatMap((word) => (word.startsWith('of=') ? [word.slice(3)] : []));
    case 'find':
      return has(args, '-delete') ? plain.slice(0, 1) : [];
    case 'curl':
    case 'wget': {
      const at = args.findIndex((word) => /^(?:-o|-O|--output|--output-document)$/.test(word));
      const path = at === -1 ? undefined : args[at + 1];
      return path === undefined || path.startsWith('-') || /^\w+:\/\//.test(path) ? [] : [path];
    }
    default:
      return [];
  }
}
