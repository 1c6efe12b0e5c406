/** A word that is unknown before the shell runs it is null. */
export type Argv = readonly (string | null)[];

/** How a program names the program that it runs. */
export interface Wrapper {
  /** Options whose value is the next word. */
  readonly valued?: readonly string[];
  /** Words between the options and the command: a duration, a file, a host. */
  readonly before?: number;
  /** Takes `NAME=value` before the command. */
  readonly assigns?: true;
  /** The command is one text that a shell reads: its words are joined. */
  readonly joined?: true;
  /** Options whose value is a script for a shell. */
  readonly scripts?: readonly string[];
  /** Option that names the folder in which the command runs. */
  readonly folder?: readonly string[];
  /** The command runs on another machine or in a container. */
  readonly remote?: true;
  /** It only runs its command: no option of it starts anything else. */
  readonly transparent?: true;
}

const words = (text: string): string[] => text.trim().split(/\s+/);

const SSH: Wrapper = {
  valued: words('-B -b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -P -Q -R -S -W -w'),
  before: 1,
  joined: true,
  remote: true,
};

/**
 * Programs that run the program in their arguments. One without a row that says where it stands may run any of its
 * words.
 */
const WRAPPERS: Readonly<Record<string, Wrapper | null>> = {
  env: {
    valued: words('-u --unset -C --chdir'),
    assigns: true,
    scripts: words('-S --split-string'),
    folder: words('-C --chdir'),
    transparent: true,
  },
  sudo: {
    valued: words('-u -g -h -p -C -T -D -R -U -r -t --user --group --chdir'),
    assigns: true,
    folder: words('-D --chdir'),
  },
  doas: { valued: words('-u -C') },
  su: { valued: words('-g -G -s -w --shell --group'), before: 1, scripts: words('-c --command') },
  runuser: { valued: words('-u -g -G -s --user'), scripts: words('-c --command') },
  xargs: { valued: words('-I -n -P -L -d -E -s -a --max-args --max-procs --arg-file --delimiter'), transparent: true },
  timeout: { valued: words('-s -k --signal --kill-after'), before: 1, transparent: true },
  nice: { valued: words('-n --adjustment'), transparent: true },
  ionice: { valued: words('-c -n -p --class --classdata'), transparent: true },
  nohup: { transparent: true },
  command: { transparent: true },
  builtin: { transparent: true },
  exec: { valued: ['-a'], transparent: true },
  time: { valued: words('-f -o --format --output'), transparent: true },
  stdbuf: { valued: words('-i -o -e --input --output --error'), transparent: true },
  setsid: { transparent: true },
  chroot: { before: 1, remote: true },
  watch: { valued: words('-n --interval'), joined: true },
  strace: { valued: words('-e -o -p -s -u -E -P') },
  ltrace: { valued: words('-e -o -p -s -u') },
  taskset: { before: 1 },
  chrt: { before: 1 },
  flock: { valued: words('-w -E --timeout'), before: 1, scripts: words('-c --command') },
  unshare: null,
  nsenter: null,
  setpriv: null,
  caffeinate: {},
  proxychains4: { valued: ['-f'] },
  rlwrap: null,
  'systemd-run': null,
  script: { valued: words('-E -I -O -T'), before: 1, scripts: words('-c --command') },
  parallel: null,
  entr: null,
  trap: null,
  coproc: {},
  find: null,
  fd: null,
  ssh: SSH,
  npx: { valued: words('-p --package -w --workspace'), scripts: words('-c --call') },
  bunx: {},
  pnpx: {},
  uvx: { valued: words('--from --with -p --python') },
  busybox: {},
  toybox: {},
};

/** Wrappers that are a verb of a program: `docker exec NAME COMMAND`. */
const VERB_WRAPPERS: Readonly<Record<string, Readonly<Record<string, Wrapper>>>> = {
  docker: {
    exec: { valued: words('-e --env -u --user -w --workdir --env-file --detach-keys'), before: 1, remote: true },
  },
  kubectl: { exec: { valued: words('-c --container -n --namespace -f --filename'), before: 1, remote: true } },
};

const SHELLS = new Set(words('sh bash dash zsh ksh mksh ash fish rbash pwsh powershell'));
const INTERPRETERS = new Set(
  words('python python2 python3 perl ruby node nodejs deno bun php lua awk gawk mawk tclsh osascript irb'),
);
/** Clients whose code is a query. */
const DATABASES = new Set(words('psql mysql mariadb sqlite3 sqlcmd duckdb mongosh'));
/** Their first argument decides nothing: any later one may be a program. */
const RUNS_ARGUMENTS = new Set([...Object.keys(WRAPPERS), ...SHELLS, 'eval', 'source', '.']);
/** Programs that never start another program. Everything else may. */
const LEAVES: ReadonlySet<string> = new Set(
  words(
    ': [ basename base32 base64 cat cd chgrp chmod chown cksum cmp comm cp cut date dd df diff dirname du echo egrep ' +
      'exit expand expr false fgrep file fmt fold grep head hexdump hostname id jq join link ln ls md5sum mkdir mkfifo ' +
      'mktemp mv nl nproc numfmt od paste pathchk pr printenv printf ps pwd readlink realpath rm rmdir seq sha1sum ' +
      'sha224sum sha256sum sha384sum sha512sum shred shuf sleep stat strings sum sync tac tail tee test touch tr tree ' +
      'true truncate tsort tty type uname unexpand uniq unlink uptime wait wc whereis which who whoami xxd yes',
  ),
);
/** Where a system keeps the programs of these names; elsewhere a name proves nothing. */
const SYSTEM_FOLDERS: ReadonlySet<string> = new Set([
  '',
  '/bin/',
  '/usr/bin/',
  '/usr/local/bin/',
  '/opt/homebrew/bin/',
]);
const OPTIONS_WITH_CODE =
  /^-{1,2}(?:[A-Za-z]*[ceErR]|p|pe|eval|print|execute|command|code|Command|EncodedCommand|enc)$/;

/** Options with a value that stand before the verb of a program. */
const VALUED: Readonly<Record<string, readonly string[]>> = {
  git: words('-C -c --git-dir --work-tree --namespace --exec-path --super-prefix --config-env'),
  kubectl: words(
    '-n --namespace --context --cluster --user --kubeconfig -s --server --token --as --as-group --as-uid -v --v ' +
      '--request-timeout --certificate-authority --client-key --client-certificate --cache-dir --tls-server-name ' +
      '--profile --profile-output --username --password --log-flush-frequency',
  ),
  helm: words(
    '-n --namespace --kube-context --kubeconfig --kube-token --kube-apiserver --kube-as-user --kube-as-group ' +
      '--kube-ca-file --registry-config --repository-config --repository-cache --burst-limit --qps',
  ),
  docker: words(
    '-H --host -c --context --config -l --log-level --tlscacert --tlscert --tlskey --connection --url --identity',
  ),
  'docker compose': words(
    '-f --file -p --project-name --profile --env-file --project-directory --ansi --parallel --progress',
  ),
  npm: words('--prefix -w --workspace --registry --userconfig --globalconfig --cache --loglevel --otp --tag -C'),
  pnpm: words('-C --dir --filter -F --filter-prod --registry --reporter --loglevel'),
  yarn: words('--cwd --registry --cache-folder --modules-folder'),
  bun: words('--cwd -c --config --filter'),
  gh: words('-R --repo --hostname'),
  glab: words('-R --repo -g --group'),
  pulumi: words('-s --stack -C --cwd --color --logtostderr'),
  terraform: [],
  aws: words(
    '--profile --region --endpoint-url --output --query --ca-bundle --color --cli-read-timeout --cli-connect-timeout',
  ),
  gcloud: words(
    '--project --account --configuration --format --verbosity --impersonate-service-account --billing-project',
  ),
  az: words('--subscription -o --output --query'),
  cargo: words('--manifest-path -C --config --color -Z'),
  go: ['-C'],
  poetry: words('-C --directory -P --project'),
  uv: words('--directory --project --config-file --cache-dir --index-url'),
  heroku: words('-a --app -r --remote -t --team'),
  fly: words('-a --app -c --config -o --org -t --access-token'),
  vercel: words('--cwd -t --token -S --scope -A --local-config'),
  'redis-cli': words('-h -p -s -a -u -r -i -n -t --user --pass'),
  systemctl: words('-H --host -M --machine -t --type -s --signal'),
  make: words('-C -f -j -o -W -I --directory --file --jobs'),
};
const SAME: Readonly<Record<string, string>> = {
  ...{ oc: 'kubectl', podman: 'docker', nerdctl: 'docker', tofu: 'terraform', flyctl: 'fly' },
  ...{ 'docker-compose': 'docker', netlify: 'vercel', wrangler: 'vercel' },
};

/** The name of a program without its folder, and without the suffix of Windows. */
export function baseName(program: string): string {
  return program.slice(program.lastIndexOf('/') + 1).replace(/\.exe$/i, '');
}

/** The name under which the table knows a program: `podman` has the options of `docker`. */
function findKnownName(name: string): string {
  return SAME[name] ?? name;
}

export function isShell(name: string): boolean {
  return SHELLS.has(name);
}

export function isInterpreter(name: string): boolean {
  return INTERPRETERS.has(name) || /^python\d/.test(name);
}

export function isDatabase(name: string): boolean {
  return DATABASES.has(name);
}

/** Whether a program runs a command from its own arguments, other than a shell does. */
export function isWrapper(name: string): boolean {
  return Object.hasOwn(WRAPPERS, name);
}

/** @returns null for a wrapper whose options the table does not know, undefined for any other program */
export function findWrapper(name: string): Wrapper | null | undefined {
  return isWrapper(name) ? WRAPPERS[name] : undefined;
}

/** The wrapper that a verb of a program is. */
export function findVerbWrapper(name: string, verb: string): Wrapper | undefined {
  const verbs = VERB_WRAPPERS[findKnownName(name)];
  return verbs !== undefined && Object.hasOwn(verbs, verb) ? verbs[verb] : undefined;
}

/** Whether the words of an interpreter hold its program as text. */
export function hasCode(args: Argv): boolean {
  return args.some((word) => word !== null && OPTIONS_WITH_CODE.test(word));
}

/** Where the verb of a program stands among its arguments; -1 without one. */
export function findVerb(name: string, args: Argv): number {
  const valued = VALUED[findKnownName(name)] ?? [];
  for (let at = 0; at < args.length; at++) {
    const word = args[at];
    if (word === null || word === undefined) return at;
    if (valued.includes(word)) at++;
    else if (!word.startsWith('-') && !(name === 'cargo' && word.startsWith('+'))) return at;
  }
  return -1;
}

/** The words that are neither options nor their values, the verb first: `git -C x push origin` gives `push origin`. */
export function readVerbs(name: string, args: Argv): string[] {
  const known = findKnownName(name);
  let valued = VALUED[known] ?? [];
  const found: string[] = [];
  for (let at = 0; at < args.length; at++) {
    const word = args[at];
    if (word === null || word === undefined) continue;
    if (valued.includes(word)) at++;
    else if (!word.startsWith('-') && !(name === 'cargo' && word.startsWith('+'))) {
      // Some verbs have options of their own.
      if (found.length === 0) valued = VALUED[`${known} ${word}`] ?? valued;
      found.push(word);
    }
  }
  return found;
}

/**
 * What a command starts, as far as its words show: itself if it starts nothing else, or the program behind a wrapper.
 * `unknown` for every program that can start others in ways that are not parsed here.
 */
export function startedBy(argv: Argv): readonly Argv[] | 'unknown' {
  const [program, ...rest] = argv;
  if (program === undefined || program === null) return 'unknown';
  const name = baseName(program);
  if (!SYSTEM_FOLDERS.has(program.slice(0, program.length - name.length))) return 'unknown';
  if (LEAVES.has(name)) return [];
  // GNU sort accepts `--compress-program` by any prefix.
  if (name === 'sort') return rest.some((word) => word === null || word.startsWith('--c')) ? 'unknown' : [];
  if (name === 'find') return startedByFind(rest);
  if (findWrapper(name)?.transparent !== true) return 'unknown';
  const at = rest.findIndex((word) => word === null || !isSetting(word));
  const before = at === -1 ? rest : rest.slice(0, at);
  // `env -S` splits a text into a command, and a variable such as LD_PRELOAD loads other code.
  if (name === 'env' && before.some((word) => word !== '-i' && word !== '-')) return 'unknown';
  return at === -1 ? [] : [rest.slice(at)];
}

/** An option, a number or a duration before the program that a wrapper runs. */
function isSetting(word: string): boolean {
  return /^(?:-.*|[+]?\d+(?:\.\d+)?[smhd]?)$/.test(word) || /^[A-Za-z_]\w*=/.test(word);
}

function startedByFind(args: Argv): readonly Argv[] | 'unknown' {
  return args.includes(null) ? 'unknown' : findExecCommands(args);
}

/** The commands behind `-exec` and its relatives. */
export function findExecCommands(args: Argv): readonly Argv[] {
  const started: Argv[] = [];
  for (const [at, word] of args.entries()) {
    if (word === null || !/^-(?:exec|ok)(?:dir)?$/.test(word)) continue;
    const rest = args.slice(at + 1);
    const end = rest.findIndex((one) => one === ';' || one === '+');
    started.push(end === -1 ? rest : rest.slice(0, end));
  }
  return started;
}

/** Why a prefix must not be allowed: it would allow every program. Null if it may. */
export function refusePrefix(prefix: readonly string[]): string | null {
  const [program, second] = prefix;
  if (program === undefined) return 'it is empty';
  const name = baseName(program);
  if (RUNS_ARGUMENTS.has(name)) return `"${name}" runs any program that its arguments name`;
  if (isInterpreter(name) && (second === undefined || OPTIONS_WITH_CODE.test(second)))
    return `"${name}" runs any code; name the script as well`;
  return null;
}
