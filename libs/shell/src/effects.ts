import { baseName, isDatabase, readVerbs } from './programs.ts';

/* What programs do to the world beside their output, by their names and words. It helps rules and is no sandbox. */

/** A command as its effects see it: the name of its program and its other words, unknown ones as they stand. */
export interface NamedCommand {
  readonly name: string;
  readonly args: readonly string[];
}

/** `docker-compose up` is `docker compose up`. */
function readCommandVerbs({ name, args }: NamedCommand): string[] {
  return name === 'docker-compose' ? readVerbs('docker', ['compose', ...args]) : readVerbs(name, args);
}

const short = (args: readonly string[], letters: string) =>
  args.some((word) => new RegExp(`^-[A-Za-z]*[${letters}][A-Za-z]*$`).test(word));
const has = (args: readonly string[], ...options: readonly string[]) =>
  args.some((word) => options.some((option) => word === option || word.startsWith(`${option}=`)));
/** Only shows how the program is used. */
const asksForHelp = (args: readonly string[]) => has(args, '--help') || args[0] === 'help';
const triesOnly = (args: readonly string[]) =>
  args.some((word) => /^--dry-run(?:$|=(?!none|false))/.test(word)) || has(args, '--check', '--simulate');

const NETWORK =
  /^(?:curl|wget|ssh|scp|sftp|rsync|nc|ncat|netcat|telnet|ftp|socat|http|https|httpie|aria2c|ping|dig|nslookup|npx|pnpx|bunx|uvx|aws|gcloud|az|gh|glab|rclone|gsutil)$/;
const REGISTRY = /^(?:npm|pnpm|yarn|bun|pip|pip3|uv|cargo|gem|go|apt|apt-get|brew|dnf|apk|poetry|composer)$/;

/** Commands that reach another machine. */
export function reachesNetwork(command: NamedCommand): boolean {
  const { name, args } = command;
  if (asksForHelp(args)) return false;
  if (NETWORK.test(name)) return true;
  const [verb = ''] = readCommandVerbs(command);
  if (name === 'git') return ['clone', 'fetch', 'pull', 'push', 'ls-remote', 'submodule'].includes(verb);
  if (REGISTRY.test(name)) return /^(?:install|i|add|ci|update|upgrade|get|download|fetch|x|dlx)$/.test(verb);
  if (name === 'docker' || name === 'podman') return ['pull', 'push', 'login'].includes(verb);
  return args.some((word) => /^\/dev\/(?:tcp|udp)\//.test(word));
}

const GH_READS = 'list view status diff checks checkout clone watch download browse'.split(' ');
const DEPLOY = /^(?:vercel|netlify|fly|flyctl|wrangler|heroku|serverless|firebase|surge|amplify|cdk|sam)$/;

/** Commands that others see: a push, a release, a change of a cluster. */
export function publishes(command: NamedCommand): boolean {
  const { name, args } = command;
  if (asksForHelp(args)) return false;
  const [verb = '', noun = ''] = readCommandVerbs(command);
  switch (name) {
    case 'git':
      return (verb === 'push' && !triesOnly(args) && !args.includes('-n')) || verb === 'send-email';
    case 'npm':
    case 'pnpm':
    case 'yarn':
    case 'bun':
      return !triesOnly(args) && (verb === 'publish' || (verb === 'npm' && noun === 'publish') || verb === 'deprecate');
    case 'cargo':
    case 'poetry':
    case 'uv':
    case 'flit':
    case 'hatch':
      return verb === 'publish' && !triesOnly(args);
    case 'gem':
      return verb === 'push';
    case 'twine':
      return verb === 'upload';
    case 'gh':
      return (
        ['pr', 'release', 'issue', 'gist', 'repo', 'workflow', 'secret', 'variable'].includes(verb) &&
        !GH_READS.includes(noun)
      );
    case 'glab':
      return ['mr', 'release', 'issue'].includes(verb) && !GH_READS.includes(noun);
    case 'docker':
    case 'podman':
    case 'oras':
    case 'skopeo':
      return verb === 'push' || (verb === 'compose' && noun === 'push') || (name === 'skopeo' && verb === 'copy');
    case 'helm':
      return ['push', 'install', 'upgrade', 'uninstall', 'delete', 'rollback'].includes(verb) && !triesOnly(args);
    case 'kubectl':
    case 'oc':
      return (
        [
          'apply',
          'create',
          'replace',
          'patch',
          'set',
          'rollout',
          'scale',
          'delete',
          'edit',
          'drain',
          'cordon',
        ].includes(verb) &&
        !(verb === 'rollout' && ['status', 'history'].includes(noun)) &&
        !triesOnly(args)
      );
    case 'terraform':
    case 'tofu':
    case 'pulumi':
      return ['apply', 'destroy', 'up', 'import'].includes(verb);
    case 'ansible-playbook':
      return !triesOnly(args);
    default:
      return DEPLOY.test(name) && /deploy|publish|prod/.test(args.join(' '));
  }
}

const SQL =
  /\b(?:DROP\s+(?:TABLE|DATABASE|SCHEMA|INDEX|VIEW|USER|ROLE)|TRUNCATE\s+(?:TABLE\s+)?\w|DELETE\s+FROM|dropDatabase|deleteMany|\.drop\(\))/i;
const DELETES = /^(?:delete|destroy|rm|rb|purge|terminate|remove|deregister|reset)(?:-|$|:)/;
const ERASERS = /^(?:shred|wipefs|fdisk|sfdisk|parted|truncate|dropdb|dropuser|blkdiscard|srm)$/;

/** Commands whose effect cannot be taken back. @param input what a database client reads */
export function destroys(command: NamedCommand, input = ''): boolean {
  const { name, args } = command;
  if (/^mkfs/.test(name) || ERASERS.test(name)) return !asksForHelp(args);
  if (asksForHelp(args)) return false;
  if (isDatabase(name)) return SQL.test([...args, input].join('\n'));
  const verbs = readCommandVerbs(command);
  const [verb = '', noun = ''] = verbs;
  switch (name) {
    case 'rm':
      return short(args, 'rRf') || has(args, '--recursive', '--force');
    case 'rmdir':
      return has(args, '--parents');
    case 'dd':
      return args.some((word) => word.startsWith('of=') && word !== 'of=/dev/null');
    case 'chmod':
    case 'chown':
    case 'chgrp':
      return short(args, 'R') || has(args, '--recursive');
    case 'find':
    case 'fd':
      // Without -f it still removes all that is found.
      return (
        has(args, '-delete') ||
        args.some((word, at) => /^-(?:exec|ok)(?:dir)?$/.test(word) && baseName(args[at + 1] ?? '') === 'rm')
      );
    case 'rsync':
      return (
        args.some((word) => word.startsWith('--delete') || word.startsWith('--remove-source')) && !short(args, 'n')
      );
    case 'git':
      return destroysInGit(verbs, args);
    case 'docker':
    case 'podman':
    case 'docker-compose':
      return destroysInDocker(verbs, args);
    case 'kubectl':
    case 'oc':
      return (
        (verb === 'delete' ||
          verb === 'drain' ||
          (verb === 'replace' && has(args, '--force')) ||
          (verb === 'scale' && has(args, '--replicas') && args.includes('--replicas=0'))) &&
        !triesOnly(args)
      );
    case 'helm':
      return ['uninstall', 'delete', 'un', 'del'].includes(verb) && !triesOnly(args);
    case 'terraform':
    case 'tofu':
    case 'pulumi':
      return (
        verb === 'destroy' ||
        has(args, '-destroy', '--destroy') ||
        (verb === 'state' && noun === 'rm') ||
        (verb === 'stack' && noun === 'rm')
      );
    case 'aws':
    case 'gcloud':
    case 'az':
    case 'gh':
    case 'glab':
    case 'heroku':
    case 'fly':
    case 'flyctl':
    case 'gsutil':
    case 'doctl':
      return verbs.some((word) => DELETES.test(word)) || (name === 'aws' && verb === 's3' && has(args, '--delete'));
    case 'rclone':
      return ['delete', 'purge', 'sync', 'deletefile', 'rmdirs'].includes(verb) && !triesOnly(args);
    case 'kill':
      return args.length > 1 && args.at(-1) === '-1';
    case 'npm':
    case 'pnpm':
    case 'yarn':
      return verb === 'unpublish';
    case 'crontab':
      return short(args, 'r');
    case 'redis-cli':
      return args.some((word) => /^flush(?:all|db)$/i.test(word));
    case 'systemctl':
      return ['mask', 'isolate', 'poweroff', 'reboot', 'halt'].includes(verb);
    case 'prisma':
      return verb === 'migrate' && noun === 'reset';
    case 'vault':
      return ['delete', 'destroy'].includes(noun) || verb === 'delete';
    case 'zfs':
    case 'zpool':
    case 'lvremove':
    case 'vgremove':
      return verb === 'destroy' || name.endsWith('remove');
    default:
      return false;
  }
}

/** Throws away what no commit holds, or what others have. */
function destroysInGit([verb = '', noun = '', ...more]: readonly string[], args: readonly string[]): boolean {
  switch (verb) {
    case 'reset':
      return has(args, '--hard', '--merge');
    case 'clean':
      return (short(args, 'f') || has(args, '--force')) && !short(args, 'n') && !has(args, '--dry-run');
    case 'push':
      return (
        (has(args, '--force', '--force-with-lease', '--delete', '--mirror', '--prune') ||
          short(args, 'fd') ||
          [noun, ...more].some((word) => word.startsWith('+') || word.startsWith(':'))) &&
        !has(args, '--dry-run') &&
        !args.includes('-n')
      );
    case 'branch':
      return (
        short(args, 'D') || (has(args, '--delete') && has(args, '--force')) || (short(args, 'd') && short(args, 'f'))
      );
    case 'checkout':
      return has(args, '--force') || short(args, 'f') || args.includes('--') || noun === '.' || more.includes('.');
    case 'restore':
      return !(has(args, '--staged') || short(args, 'S')) || has(args, '--worktree') || short(args, 'W');
    case 'switch':
      return has(args, '--discard-changes', '--force') || short(args, 'f');
    case 'worktree':
      return noun === 'remove' && (has(args, '--force') || short(args, 'f'));
    case 'stash':
      return noun === 'drop' || noun === 'clear';
    case 'reflog':
      return noun === 'expire' || noun === 'delete';
    case 'update-ref':
      return short(args, 'd');
    case 'rm':
      return short(args, 'f') || has(args, '--force');
    case 'submodule':
      return noun === 'deinit' && (short(args, 'f') || has(args, '--force'));
    case 'filter-branch':
    case 'filter-repo':
      return true;
    case 'gc':
      return args.includes('--prune=now');
    default:
      return false;
  }
}

function destroysInDocker([verb = '', noun = '']: readonly string[], args: readonly string[]): boolean {
  if (noun === 'prune' || verb === 'prune') return true;
  if (verb === 'compose')
    return (
      (noun === 'down' && (short(args, 'v') || has(args, '--volumes', '--rmi'))) || (noun === 'rm' && short(args, 'fv'))
    );
  if (verb === 'rm' || verb === 'rmi') return short(args, 'fv') || has(args, '--force', '--volumes');
  if (verb === 'swarm') return noun === 'leave' && (short(args, 'f') || has(args, '--force'));
  return (
    (['volume', 'network', 'secret', 'config', 'stack', 'service', 'context'].includes(verb) &&
      /^(?:rm|remove)$/.test(noun)) ||
    (['container', 'image'].includes(verb) &&
      /^(?:rm|remove)$/.test(noun) &&
      (short(args, 'fv') || has(args, '--force')))
  );
}

export function nameCommand(texts: readonly string[]): NamedCommand {
  const [program = '', ...args] = texts;
  return { name: baseName(program), args };
}
