import type { NamedCommand } from './effects.ts';
import { readVerbs } from './programs.ts';

const short = (args: readonly string[], letters: string) =>
  args.some((word) => new RegExp(`^-[A-Za-z]*[${letters}][A-Za-z]*$`).test(word));

export interface Writes {
  /** Paths whose content the command changes or makes. */
  readonly writes: readonly string[];
  /** Paths that go away, move or get other owners: what is below them goes along. */
  readonly moves: readonly string[];
}

/** Paths that a command changes. */
export function findWrites({ name, args }: NamedCommand): Writes {
  const end = args.indexOf('--');
  const plain = args.filter((word, at) => (end !== -1 && at > end) || (!word.startsWith('-') && word !== '--'));
  const none: readonly string[] = [];
  const readOption = (...options: readonly string[]): string[] => {
    const at = args.findIndex((word) => options.includes(word));
    const long = args.find((word) =>
      options.some((option) => option.startsWith('--') && word.startsWith(`${option}=`)),
    );
    const found = long === undefined ? args[at + 1] : long.slice(long.indexOf('=') + 1);
    return (at === -1 && long === undefined) || found === undefined ? [] : [found];
  };
  switch (name) {
    case 'rm':
    case 'rmdir':
    case 'shred':
    case 'unlink':
      return { writes: plain, moves: plain };
    case 'mv':
      return { writes: plain, moves: plain };
    case 'tee':
    case 'touch':
    case 'mkdir':
    case 'truncate':
      return { writes: plain, moves: none };
    case 'cp':
    case 'ln':
    case 'install':
    case 'rsync':
    case 'scp': {
      const target = readOption('-t', '--target-directory');
      const to = target.length > 0 ? target : plain.slice(-1);
      return { writes: to, moves: name === 'ln' ? to : none };
    }
    case 'chmod':
    case 'chown':
    case 'chgrp':
      return { writes: plain.slice(1), moves: plain.slice(1) };
    case 'sed':
    case 'perl':
      return {
        writes:
          short(args, 'i') || args.some((word) => /^(?:-i|--in-place)/.test(word))
            ? plain.slice(name === 'sed' ? 1 : 0)
            : none,
        moves: none,
      };
    case 'dd':
      return { writes: args.flatMap((word) => (word.startsWith('of=') ? [word.slice(3)] : [])), moves: none };
    case 'find':
      return args.includes('-delete')
        ? { writes: plain.slice(0, 1), moves: plain.slice(0, 1) }
        : { writes: none, moves: none };
    case 'curl':
      return { writes: readOption('-o', '--output', '--output-dir'), moves: none };
    case 'wget':
      return {
        writes: readOption('-O', '--output-document', '-P', '--directory-prefix').filter((path) => path !== '-'),
        moves: none,
      };
    case 'tar':
      return { writes: readOption('-C', '--directory'), moves: none };
    case 'unzip':
      return { writes: readOption('-d'), moves: none };
    case 'git': {
      const [verb, ...rest] = readVerbs('git', args);
      if (verb === 'clone') return { writes: rest.slice(1), moves: none };
      if (verb === 'worktree' && rest[0] === 'add') return { writes: rest.slice(1, 2), moves: none };
      return { writes: none, moves: none };
    }
    default:
      return { writes: none, moves: none };
  }
}
