import { describe, expect, it } from '@jest/globals';
import { MENTIONS, RUNS, UNREADABLE } from '@agentlens/shell/testing';
import fc from 'fast-check';
import { PermissionManager } from './permission-manager.ts';
import { PermissionRule } from './rule.ts';
import { readShellCommand } from './shell-command.ts';

const who = { sessionId: 's', agentType: 'coder' };
const decide = (rules: readonly PermissionRule[], command: string) =>
  new PermissionManager({ rules }).check('bash', { command }, who).decision;

const allowed = [PermissionRule.allowBashPrefix(['git status', 'git log', 'ls', 'echo', 'cat'])];

describe('a shell command under allow rules', () => {
  it.each([
    ['git status'],
    ['  git status --short  '],
    ['git log --oneline | cat'],
    ['ls -la && git status; echo done'],
    ['ls\necho "a b" \'c d\''],
    ['ls 2>&1 >/dev/null'],
    ['ls || echo no'],
    ['cat src/a-b_c.ts'],
  ])('is allowed if every part is: %j', (command) => {
    expect(decide(allowed, command)).toBe('allow');
  });

  it.each([
    ['rm -rf /'],
    ['git push'],
    ['git statusx'],
    ['gitstatus'],
    ['/tmp/git status'],
    ['git status; rm -rf /'],
    ['git status && rm x'],
    ['git status | sh'],
    ['git status & rm x'],
    ['git status\nrm x'],
    ['git status $(rm x)'],
    ['git status `rm x`'],
    ['git status "$(rm x)"'],
    ['echo $HOME'],
    ['echo \u0024{PATH}'],
    ['echo $((1+1))'],
    ['echo *'],
    ['echo {a,b}'],
    ['echo ~'],
    ['echo a > file'],
    ['echo a >> .bashrc'],
    ['cat < /etc/passwd'],
    ['cat <<EOF\n$(rm x)\nEOF'],
    ['cat <<< $(rm x)'],
    ['A=1 git status'],
    ['PATH=/tmp git status'],
    ['(git status)'],
    ['{ git status; }'],
    ['if true; then git status; fi'],
    ['for a in b; do git status; done'],
    ['git() { rm x; }; git status'],
    ['! git status'],
    ['time git status'],
    ['git status #comment'],
    ["git status $'\\x41'"],
    ['git sta\\\ntus'],
    ['git\\ status'],
    ['echo a\\;rm x'],
    ['diff <(ls) <(cat)'],
    ['git status &> out'],
    ['git status {fd}>/dev/null'],
    ['coproc git status'],
    ['[[ -f a ]] && ls'],
    ['((1)) && ls'],
    ['ls "unterminated'],
    ['ls \u0000'],
    ['ls\rrm x'],
    [''],
    ['   '],
    ['#only a comment'],
    ['eval ls'],
    ['exec ls'],
    ['alias ls=rm; ls'],
  ])('is asked about otherwise: %j', (command) => {
    expect(decide(allowed, command)).toBe('ask-user');
  });

  it.each(['env', 'xargs', 'bash', 'sh -c', 'find', 'eval', 'sudo', 'python', 'python -c', 'node -e', 'timeout 5', ''])(
    'cannot be allowed by a prefix that allows everything: %j',
    (prefix) => {
      expect(() => new PermissionManager({ rules: [PermissionRule.allowBashPrefix([prefix])] })).toThrow(
        expect.objectContaining({ code: 'invalid_config' }),
      );
    },
  );
});

const denied = [PermissionRule.allowTool('bash'), PermissionRule.denyBashPrefix(['rm', 'git push', 'curl'])];

describe('a shell command under deny rules', () => {
  it.each([
    ['rm x'],
    ['/bin/rm x'],
    ['ls; rm x'],
    ['ls && (cd a; rm x)'],
    ['echo $(rm x)'],
    ['echo "`rm x`"'],
    ['if true; then rm x; fi'],
    ['f() { rm x; }; f'],
    ['env A=1 rm x'],
    ['sudo -u root rm x'],
    ['xargs rm'],
    ['find . -exec rm {} +'],
    ['timeout 5 rm x'],
    ['nohup nice -n 5 rm x &'],
    ["sh -c 'rm x'"],
    ["bash -lc 'ls; rm x'"],
    ['eval "rm x"'],
    ['bash -c "sh -c \'rm x\'"'],
    ['cat <<EOF\n$(rm x)\nEOF'],
    ['bash <<EOF\nrm x\nEOF'],
    ['diff <(rm x) a'],
    ['git -C repo push'],
    ['git push origin'],
    ['[[ $(rm x) ]] && ls'],
    ['while rm x; do :; done'],
    ["'rm' x"],
    ['r"m" x'],
  ])('is denied if it contains one: %j', (command) => {
    expect(decide(denied, command)).toBe('deny');
  });

  it.each([
    ['$X y'],
    ['X=rm; $X y'],
    ['eval "$X"'],
    ['bash -c "$X"'],
    ['curl_x | sh'],
    ['echo rm | bash'],
    ['python -c "x"'],
    ['git $X'],
  ])('is asked about if it cannot be determined: %j', (command) => {
    expect(decide(denied, command)).toBe('ask-user');
  });

  it.each([
    ['ls -la'],
    ['echo rm'],
    ['grep -r rm src'],
    ['cat $FILE'],
    ['/usr/bin/sort a | uniq -c'],
    ['find . -name a -exec grep -l b {} +'],
    ['timeout 5s nice -n 10 ls'],
    ["bash -c 'ls; pwd'"],
    ['for a in 1 2; do echo "$a"; done'],
  ])('is not affected if it contains none: %j', (command) => {
    expect(decide(denied, command)).toBe('allow');
  });

  it.each([
    ["env -S 'rm x'"],
    ["npx -c 'rm x'"],
    ["npm exec -c 'rm x'"],
    ['awk \'BEGIN{system("rm x")}\''],
    ["git -c alias.x='!rm x' x"],
    ["sed '1e rm x' a"],
    ['tar --checkpoint-action=exec=rm -cf a b'],
    ['/lib64/ld-linux-x86-64.so.2 /bin/rm x'],
    ['make -f Evil'],
    ['git pull'],
    ['sort --compress-program=/tmp/rm a'],
    ['vim -c ":!rm x"'],
    ['./ls'],
    ['/tmp/ls'],
    ['PATH=/tmp ls'],
    ['LD_PRELOAD=/tmp/x.so ls'],
    ['env LD_PRELOAD=/tmp/x.so ls'],
    ['find . -exec git clean {} +'],
    ['sh build.sh'],
    ['node build.js'],
    ['xargs -I {} {} x'],
    ['flock a -c "rmx"'],
    ['alias ls=rm'],
  ])('is asked about if a program could start a denied one: %j', (command) => {
    expect(['ask-user', 'deny']).toContain(decide(denied, command));
  });

  it('is allowed if every program that could is allowed by name', () => {
    const rules = [...denied, PermissionRule.allowBashPrefix(['git pull', 'make'])];
    expect(decide(rules, 'git pull && make test | tail -5')).toBe('allow');
    expect(decide(rules, 'git fetch')).toBe('ask-user');
    expect(decide(rules, 'make $X')).toBe('ask-user');
  });

  it('may run any program if none is denied', () => {
    expect(decide([PermissionRule.allowTool('bash')], 'git pull && make')).toBe('allow');
  });

  it('finds short options in any spelling', () => {
    const rules = [PermissionRule.allowTool('bash'), PermissionRule.denyBashPrefix(['rm -rf'])];
    for (const command of ['rm -rf a', 'rm -fr a', 'rm -r -f a', 'rm -v -rf a'])
      expect(decide(rules, command)).toBe('deny');
    expect(decide(rules, 'rm -r a')).toBe('allow');
    expect(decide(rules, 'rm $X a')).toBe('ask-user');
  });
});

describe('the cases that every user of the shell reader meets', () => {
  const rules = [PermissionRule.allowTool('bash'), PermissionRule.denyBashPrefix(['rm', 'git push'])];

  it.each(RUNS.map(({ line, runs }) => [line, runs] as const))('%j is denied, because it runs %s', (line) => {
    expect(decide(rules, line)).toBe('deny');
  });

  it.each(MENTIONS)('%j is not denied, because it only mentions a command', (line) => {
    expect(decide(rules, line)).not.toBe('deny');
  });

  it.each(UNREADABLE)('%j is asked about, because it cannot be read', (line) => {
    expect(decide(rules, line)).toBe('ask-user');
  });
});

describe('parsing a shell command', () => {
  it('never throws for any text', () => {
    const piece = fc.constantFrom(
      '$(',
      ')',
      '`',
      '"',
      "'",
      '\\',
      '\n',
      ';',
      '&',
      '|',
      '<',
      '>',
      '{',
      '}',
      '[[',
      ']]',
      'rm',
      ' ',
      '$',
      '#',
      '((',
      '))',
      'EOF',
      '<<',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        const { found } = readShellCommand(pieces.join(''));
        expect(Array.isArray(found)).toBe(true);
      }),
      { numRuns: 1_000 },
    );
  });
});
