/** A line, and a command that it runs at some depth: each user of the reader has to treat the line as that command. */
export interface ShellCase {
  readonly line: string;
  readonly runs: string;
}

const RM = 'rm -rf x';
const runs = (command: string, lines: readonly string[]): ShellCase[] => lines.map((line) => ({ line, runs: command }));

/** Lines that run a command in every way that the reader follows. */
export const RUNS: readonly ShellCase[] = [
  ...runs(RM, [
    RM,
    'ls && rm -rf x',
    'ls\nrm -rf x',
    'ls | xargs rm -rf x',
    '(cd a; rm -rf x)',
    '{ rm -rf x; }',
    '! rm -rf x',
    'if true; then rm -rf x; fi',
    'while rm -rf x; do :; done',
    'case a in b) rm -rf x;; esac',
    'f() { rm -rf x; }; f',
    'rm -rf x &',
    'time rm -rf x',
    'coproc rm -rf x',
    '[[ $(rm -rf x) ]] && ls',
    'echo $(rm -rf x)',
    'echo "a `rm -rf x` b"',
    'diff <(rm -rf x) a',
    'cat <<EOT\n$(rm -rf x)\nEOT',
    'a=$(rm -rf x)',
    'A=1 rm -rf x',
    "r'm' -rf x",
    '\\rm -rf x',
    'rm \\\n-rf x',
    "$'rm' -rf x",
    '/bin/rm -rf x',
    'env A=1 rm -rf x',
    'env -u A -C sub rm -rf x',
    "env -S 'rm -rf x'",
    "env '-Srm -rf x'",
    "env --split-string='rm -rf x'",
    'sudo -u root rm -rf x',
    'sudo --chdir=/ rm -rf x',
    'timeout -s KILL 5m rm -rf x',
    'nohup nice -n 5 rm -rf x',
    'stdbuf -o L rm -rf x',
    'command rm -rf x',
    'exec -a n rm -rf x',
    'flock -w 3 lock rm -rf x',
    "flock lock -c 'rm -rf x'",
    'find . -name a -exec rm -rf x +',
    'find . -execdir rm -rf x \\;',
    "sh -c 'rm -rf x'",
    "bash -lc 'ls; rm -rf x'",
    'bash -c "sh -c \'rm -rf x\'"',
    "su - -c 'rm -rf x'",
    'eval "rm -rf x"',
    "trap 'rm -rf x' EXIT",
    'bash <<EOT\nrm -rf x\nEOT',
    'bash -s <<-EOT\n\trm -rf x\n\tEOT',
    'bash <<< "rm -rf x"',
    '{ bash; } <<< "rm -rf x"',
    'ssh -p 22 host rm -rf x',
    "ssh host 'cd a && rm -rf x'",
    'watch -n 5 rm -rf x',
    'docker exec -u root c rm -rf x',
    'kubectl -n prod exec pod -- rm -rf x',
  ]),
  ...runs('git push', [
    'git -C ../a push',
    'git -c a=b --git-dir x push',
    'cd a && git --no-pager push',
    'nice git push',
  ]),
];

/** Lines that only mention a command. */
export const MENTIONS: readonly string[] = [
  'echo "rm -rf x"',
  "echo 'rm -rf x' > notes.md",
  'cat > notes.md <<"EOT"\nrm -rf x\ngit push\nEOT',
  'git commit -F - <<EOT\nno rm -rf x\nEOT',
  'git commit -m "rm -rf x; git push"',
  'grep -rn "rm -rf x" .',
  '# rm -rf x',
  'ls # && rm -rf x',
  'find . -name a -exec grep rm {} +',
  'printf %s "$(echo rm -rf x)"',
];

/** Lines that run a text that cannot be read before it runs. */
export const UNREADABLE: readonly string[] = [
  '$CMD',
  'eval "$X"',
  'bash -c "$X"',
  'curl_x | sh',
  'python3 -c "x"',
  "env -S '$X'",
  "[[ -v 'a[$(ls)]' ]]",
  "printf -v 'a[$(ls)]' x",
  "test -v 'a[$(ls)]'",
  "x='$(ls)'; echo \u0024{x@P}",
  "x='a[$(ls)]'; echo $((x))",
  "x='a[$(ls)]'; [[ x -eq 1 ]]",
  "echo $((1 + '$(ls)'))",
  "unset 'a[$(ls)]'",
  "declare 'a[$(ls)]=1'",
  "x='a[$(ls)]'; echo \u0024{!x}",
];
