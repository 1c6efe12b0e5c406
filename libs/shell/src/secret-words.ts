import { baseName } from './programs.ts';
import type { ShellCommand } from './reader.ts';

/* Where programs take secrets in their words: by position, because a password has no form of its own. */

/** How a program takes secrets beside options whose name says so. */
interface SecretPositions {
  /** Options whose next word, or the rest of whose word, is a secret. */
  readonly values?: readonly string[];
  /** Options of which only the rest of the word is a secret: alone, they ask for it. */
  readonly attached?: readonly string[];
  /** Options whose value is `user:password`. */
  readonly users?: readonly string[];
  /** Options whose value is a header. */
  readonly headers?: readonly string[];
  /** Options whose value is `NAME=value`. */
  readonly variables?: readonly string[];
}

const MYSQL: SecretPositions = { attached: ['-p'] };
const MONGO: SecretPositions = { values: ['-p', '--password'] };
const CONTAINER: SecretPositions = {
  variables: ['-e', '--env', '--build-arg', '--from-literal'],
  values: ['--password'],
};

const POSITIONS: Readonly<Record<string, SecretPositions>> = {
  curl: {
    users: ['-u', '--user', '--proxy-user', '-U'],
    headers: ['-H', '--header', '--proxy-header', '-b', '--cookie'],
  },
  wget: { headers: ['--header'], values: ['--http-password', '--ftp-password', '--proxy-password'] },
  http: { users: ['-a', '--auth'] },
  https: { users: ['-a', '--auth'] },
  mysql: MYSQL,
  mysqldump: MYSQL,
  mysqladmin: MYSQL,
  mariadb: MYSQL,
  mongosh: MONGO,
  mongodump: MONGO,
  mongorestore: MONGO,
  sqlcmd: { values: ['-P'] },
  sshpass: { values: ['-p'] },
  'redis-cli': { values: ['-a', '--pass'] },
  ldapsearch: { values: ['-w'] },
  ldapmodify: { values: ['-w'] },
  zip: { values: ['-P', '--password'] },
  unzip: { values: ['-P'] },
  '7z': { attached: ['-p'] },
  openssl: { values: ['-passin', '-passout', '-k', '-K'] },
  keytool: { values: ['-storepass', '-keypass'] },
  docker: CONTAINER,
  podman: CONTAINER,
  kubectl: CONTAINER,
  fly: { variables: ['-e', '--env', '--build-arg'] },
};

/** Programs whose words are settings: `heroku config:set NAME=value`, `aws configure set name value`. */
const SETTERS =
  /^(?:export|declare|typeset|local|readonly|env|set|heroku|fly|flyctl|vault|gh|npm|pnpm|yarn|git|aws|pulumi|sudo|make)$/;

/** Words of a line that are secrets by their place. @param isSecretName tells names whose values are secret */
export function findSecretWords(commands: readonly ShellCommand[], isSecretName: (name: string) => boolean): string[] {
  return commands.flatMap((command) => [
    ...command.assignments.flatMap((text) => secretVariable(text, isSecretName)),
    ...secretsIn(command, isSecretName),
  ]);
}

function secretsIn({ argv }: ShellCommand, isSecretName: (name: string) => boolean): string[] {
  const [program, ...args] = argv;
  if (program === null || program === undefined) return [];
  const name = baseName(program);
  const known = Object.hasOwn(POSITIONS, name) ? (POSITIONS[name] ?? {}) : {};
  const found: string[] = [];
  for (const [at, word] of args.entries()) {
    if (word === null) continue;
    const next = args[at + 1] ?? undefined;
    const valueOfOption = (options: readonly string[] = []) => readValue(word, next, options);
    found.push(...valueOfOption(known.values), ...readValue(word, undefined, known.attached ?? []));
    found.push(
      ...valueOfOption(known.users).flatMap((user) => (user.includes(':') ? [user.slice(user.indexOf(':') + 1)] : [])),
    );
    found.push(...valueOfOption(known.headers).flatMap((header) => secretHeader(header, isSecretName)));
    found.push(...valueOfOption(known.variables).flatMap((text) => secretVariable(text, isSecretName)));
    const [, option, value] = /^--?([A-Za-z][\w-]*)(?:=(.*))?$/s.exec(word) ?? [];
    if (option !== undefined && word.startsWith('--') && isSecretName(option)) {
      if (value !== undefined) found.push(value);
      else if (next !== undefined && !next.startsWith('-')) found.push(next);
    }
    if (!word.startsWith('-') && SETTERS.test(name)) {
      found.push(...secretVariable(word, isSecretName));
      if (name === 'aws' && isSecretName(word) && next !== undefined) found.push(next);
    }
  }
  return found;
}

/** `-p x`, `-px`, `--password x`, `--password=x`. */
function readValue(word: string, next: string | undefined, options: readonly string[]): string[] {
  for (const option of options) {
    if (word === option) return next === undefined || (next.startsWith('-') && option !== '-p') ? [] : [next];
    const prefix = option.startsWith('--') ? `${option}=` : option;
    if (option.length === 2 || option.startsWith('--')) {
      if (word.startsWith(prefix) && word.length > prefix.length && !(option.length === 2 && word.startsWith('--')))
        return [word.slice(prefix.length)];
    }
  }
  return [];
}

function secretVariable(text: string, isSecretName: (name: string) => boolean): string[] {
  const [, name, value] = /^([\w.:/-]+?)\+?=(.*)$/s.exec(text) ?? [];
  if (name === undefined || value === undefined || !isSecretName(name)) return [];
  return [value.replace(/^(["'])(.*)\1$/s, '$2')];
}

const SCHEME = /^(?:bearer|basic|token|digest|negotiate|apikey|key)\s+/i;

function secretHeader(header: string, isSecretName: (name: string) => boolean): string[] {
  const colon = header.indexOf(':');
  const [name, value] = [header.slice(0, colon), header.slice(colon + 1).trim()];
  if (colon === -1 || !isSecretName(name)) return colon === -1 && /=/.test(header) ? [header] : [];
  return [value.replace(SCHEME, '')];
}
