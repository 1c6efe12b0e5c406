import { describe, expect, it } from '@jest/globals';
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
  ])('is allowed when every part is: %j', (command) => {
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
  ])('is refused where it holds one: %j', (command) => {
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
  ])('is asked about where nobody can read it: %j', (command) => {
    expect(decide(denied, command)).toBe('ask-user');
  });

  it.each([['ls -la'], ['echo rm'], ['git pull'], ['grep -r rm src'], ['cat $FILE']])(
    'goes on where it holds none: %j',
    (command) => {
      expect(decide(denied, command)).toBe('allow');
    },
  );

  it('finds short options however they are written', () => {
    const rules = [PermissionRule.allowTool('bash'), PermissionRule.denyBashPrefix(['rm -rf'])];
    for (const command of ['rm -rf a', 'rm -fr a', 'rm -r -f a', 'rm -v -rf a'])
      expect(decide(rules, command)).toBe('deny');
    expect(decide(rules, 'rm -r a')).toBe('allow');
    expect(decide(rules, 'rm $X a')).toBe('ask-user');
  });
});

describe('reading a shell command', () => {
  it('never throws, whatever the text is', () => {
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
