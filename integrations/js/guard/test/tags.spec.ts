import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { MENTIONS, RUNS, UNREADABLE } from '@agentlens/shell/testing';
import { redactArguments, redactText, signatureOf } from '../src/judge/redact.ts';
import { shellFindings } from '../src/judge/shell.ts';
import { tagsOf } from '../src/judge/tags.ts';
import { guardedCall } from '../src/judge/tools.ts';
import { secretEnvironment } from '../src/resident/processes.ts';

/** Commands, each with exactly the tags that it gets besides `shell`. */
const COMMANDS: Readonly<Record<string, readonly string[]>> = {
  '': [
    'ls -la',
    'git status',
    'npm test',
    'npm run build',
    'echo "rm -rf /"',
    "echo 'git push'",
    'rm file.txt',
    'git commit -m "drop it"',
    'node script.js',
    'python3 tool.py --flag',
    'cat a | grep b',
    'mkdir -p a/b',
    "printf $'a'",
    'git push --help',
    'git restore --staged a',
    'git log --oneline',
    'sed -n 1,5p a',
    'git checkout main',
    'git branch -d x',
    'chmod +x a.sh',
    'find . -name "*.ts"',
    'make',
    'cargo build',
    'go test ./...',
    'docker ps',
    'kubectl get pods',
    'terraform plan',
    'gh --version',
    'git stash',
    'kill 123',
    'node --version',
    'python3 -V',
    'true && false || echo x',
    'echo hi > out.txt',
    'tsc -p . 2>&1',
    'git diff HEAD~1 -- a.ts',
    'npm pack',
    'docker build .',
    '# rm -rf /',
    'rmdir empty',
    'git reset --soft HEAD~1',
    'git clean -n',
    'dd if=a',
  ].filter((line) => line !== 'gh --version'),
  destructive: [
    'rm -rf build',
    'rm -r a',
    'rm -f a',
    'rm --recursive a',
    'rm --force a',
    'sudo -u x rm -fr /',
    'mkfs.ext4 /dev/sda',
    'mkfs /dev/sda',
    'dd if=a of=/dev/sda',
    'git reset --hard',
    'git reset --hard origin/main',
    'git clean -fd',
    'git clean --force',
    'git -C sub reset --hard',
    'git -c a=b clean -xdf',
    'chmod -R 777 .',
    'chown -R me .',
    'find . -delete',
    'find . -name a -exec rm {} +',
    'rsync --delete a/ b/',
    'git branch -D x',
    'git checkout -f',
    'git checkout -- .',
    'git filter-branch --all',
    'git stash drop',
    'git stash clear',
    'docker system prune',
    'docker rm -f x',
    'docker volume rm x',
    'kubectl drain n',
    'aws s3 rb s3://b',
    'shred a',
    'truncate -s 0 a',
    'dropdb x',
    'psql -c "DROP TABLE users"',
    'mysql -e "delete from users"',
    'ls && rm -rf x',
    'ls; rm -rf x',
    'ls\nrm -rf x',
    'ls | xargs rm -rf',
    'env A=1 rm -rf x',
    'nohup rm -rf x &',
    'timeout 5 rm -rf x',
    'bash -c "rm -rf x"',
    "sh -c 'cd a && rm -rf x'",
    'bash -lc "bash -c \'rm -rf x\'"',
    '(rm -rf x)',
    'if true; then rm -rf x; fi',
    'for f in a; do rm -rf $f; done',
    '! rm -rf x',
    'A=1 B=2 rm -rf x',
    '/bin/rm -rf x',
    '\\rm -rf x',
    "r'm' -rf x",
    'r""m -rf x',
    'rm \\\n-rf x',
    'kill -9 -1',
    'npm unpublish x',
  ],
  publish: [
    'git push',
    'git push origin main',
    'git -C x push',
    'npm publish',
    'pnpm publish',
    'yarn npm publish',
    'cargo publish',
    'twine upload dist/*',
    'gh pr create',
    'gh release create v1',
    'docker push x',
    'podman push x',
    'kubectl apply -f a',
    'terraform apply',
    'pulumi up',
    'helm upgrade a b',
    'gem push a',
    'poetry publish',
    'vercel deploy',
    'fly deploy',
    'gh workflow run x',
    'sudo docker push x',
    'glab mr create',
  ],
  network: [
    'curl http://a',
    'wget a',
    'ssh host ls',
    'scp a b:',
    'rsync a b:',
    'nc -l 1',
    'echo x > /dev/tcp/1.2.3.4/80',
    'git clone x',
    'git pull',
    'npm install',
    'pip install x',
    'npx x',
    'echo https://a.b',
    'apt-get install x',
    'aws s3 ls',
    'gh pr list',
    'git fetch',
    'go get x',
    'telnet a',
    'ping a',
    'curl -X POST a',
  ],
  interactive: ['bash', 'sh', 'zsh', 'bash -i', 'python3', 'node', 'ssh host', 'psql', 'irb', 'sudo bash', 'env bash'],
  opaque: [
    'eval "$X"',
    'echo a | base64 -d | sh',
    'python -c "x"',
    'python3 -c "import os"',
    'node -e "x"',
    'perl -e "x"',
    'echo $(date)',
    'echo `date`',
    'echo "$(date)"',
    '$CMD',
    'source x.sh',
    '. x.sh',
    'bash script.sh',
    'sh < a',
    'cat a | bash',
    'ruby -e x',
    '"$(cat a)"',
    'node --eval x',
    'deno eval x',
  ].filter((line) => line !== 'deno eval x'),
};

const tagsOfLine = (line: string) => shellFindings(line).tags;

void describe('tags of shell lines', () => {
  for (const [tag, lines] of Object.entries(COMMANDS))
    for (const line of lines)
      void it(`${tag === '' ? 'no tag' : tag}: ${JSON.stringify(line)}`, () => {
        const tags = tagsOfLine(line);
        if (tag === '') assert.deepEqual([...tags], ['shell']);
        else assert.ok(tags.has(tag), [...tags].join());
      });

  for (const { line, runs } of RUNS)
    void it(`${JSON.stringify(line)} has the tags of ${runs}`, () => {
      const tags = tagsOfLine(line);
      for (const tag of tagsOfLine(runs)) assert.ok(tags.has(tag), [...tags].join());
    });
  for (const line of MENTIONS)
    void it(`${JSON.stringify(line)} has no tag of what it mentions`, () => {
      const tags = tagsOfLine(line);
      assert.deepEqual([tags.has('destructive'), tags.has('publish')], [false, false]);
    });
  for (const line of UNREADABLE)
    void it(`${JSON.stringify(line)} is opaque`, () => assert.ok(tagsOfLine(line).has('opaque')));

  void it('reads commands inside substitutions', () => {
    assert.ok(tagsOfLine('echo $(rm -rf x)').has('destructive'));
    assert.ok(tagsOfLine('echo "$(rm -rf x)"').has('destructive'));
    assert.ok(tagsOfLine('echo `git push`').has('publish'));
  });

  void it('calls what is nested too deeply opaque', () => {
    const nested = Array.from({ length: 8 }).reduce<string>(
      (line) => `bash -c '${line.replaceAll("'", "'\\''")}'`,
      'rm -rf x',
    );
    assert.ok(tagsOfLine(nested).has('opaque'));
  });

  void it('does not lose a tag by quoting, separators or wrappers', () => {
    const risky = fc.constantFrom(...(COMMANDS.destructive ?? []).filter((line) => /^[\w. /-]+$/.test(line)));
    const around = fc.constantFrom<(line: string) => string>(
      (line) => `true && ${line}`,
      (line) => `cd a; ${line}`,
      (line) => `${line} || true`,
      (line) => `sudo ${line}`,
      (line) => `env X=1 ${line}`,
      (line) => `( ${line} )`,
      (line) => `bash -c '${line.replaceAll("'", "'\\''")}'`,
      (line) => `echo "a;b" | cat\n${line}`,
    );
    const quote = fc.constantFrom('', '"', "'");
    fc.assert(
      fc.property(risky, quote, around, around, (line, mark, inner, outer) => {
        const quoted = line.split(' ').map((word) => mark + word + mark);
        const found = tagsOfLine(outer(inner(quoted.join(' '))));
        assert.ok(found.has('destructive') || found.has('opaque'));
      }),
    );
  });

  void it('reads any text without failing', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (line) => tagsOfLine(line).has('shell')));
  });
});

void describe('tags of calls', () => {
  let project = '';
  before(() => {
    const folder = mkdtempSync(join(tmpdir(), 'guard-tags-'));
    project = join(folder, 'project');
    mkdirSync(join(project, 'sub'), { recursive: true });
    symlinkSync('/etc', join(project, 'link'));
  });
  after(() => rmSync(join(project, '..'), { recursive: true }));

  const tags = (name: string, input: Record<string, unknown>, more = {}) => {
    const use = { name, input, ...more };
    const context = { project, home: '/home/dev', guardFolder: '/home/dev/.config/agentlens/guard' };
    return tagsOf(use, guardedCall(use), context);
  };

  const CASES: readonly [string, Record<string, unknown>, readonly string[]][] = [
    ['Write', { file_path: 'sub/a.ts', content: 'x' }, ['write']],
    ['Write', { file_path: '/tmp/other', content: 'x' }, ['outside-project', 'write']],
    ['Write', { file_path: '../x', content: 'x' }, ['outside-project', 'write']],
    ['Write', { file_path: 'link/passwd', content: 'x' }, ['outside-project', 'write']],
    ['Edit', { file_path: '.env', old_string: 'a', new_string: 'b' }, ['secret-path', 'write']],
    ['Edit', { file_path: '.env.example', old_string: 'a', new_string: 'b' }, ['write']],
    ['Read', { file_path: 'sub/id_rsa' }, ['read', 'secret-path']],
    ['Read', { file_path: '/home/dev/.ssh/config' }, ['outside-project', 'read', 'secret-path']],
    ['Read', { file_path: '/home/dev/.aws/credentials' }, ['outside-project', 'read', 'secret-path']],
    ['Write', { file_path: '.claude/settings.json', content: '{}' }, ['guard-files', 'write']],
    ['Write', { file_path: 'a.json', content: '{"disableAllHooks": true}' }, ['guard-files', 'write']],
    ['Write', { file_path: '.opencode/plugins/x.js', content: '' }, ['guard-files', 'write']],
    ['Bash', { command: 'cat ~/.config/agentlens/guard/guard.json' }, ['guard-files', 'shell']],
    ['Bash', { command: 'claude --bare -p x' }, ['guard-files', 'shell']],
    ['Bash', { command: 'git clone --bare x' }, ['network', 'shell']],
    ['Bash', { command: 'git commit -m "say what agentlens guard off does"' }, ['shell']],
    ['Bash', { command: 'npx @agentlens/cli guard off --all' }, ['guard-files', 'network', 'shell']],
    ['Bash', { command: 'agentlens guard status' }, ['shell']],
    ['Bash', { command: 'OPENCODE_PURE=1 opencode run x' }, ['guard-files', 'shell']],
    ['Bash', { command: 'cd ~/.claude && echo {} > settings.json' }, ['guard-files', 'outside-project', 'shell']],
    ['Bash', { command: 'mv ~/.claude ~/.claude-off' }, ['guard-files', 'outside-project', 'shell']],
    ['Bash', { command: 'cd .. && touch y' }, ['outside-project', 'shell']],
    ['Bash', { command: 'cd "$X" && touch y' }, ['outside-project', 'shell']],
    ['Bash', { command: 'cd sub && touch ../y' }, ['shell']],
    ['Bash', { command: 'cd "$PWD/sub" && touch y' }, ['shell']],
    ['Bash', { command: 'docker run --env-file=.env x' }, ['secret-path', 'shell']],
    ['Bash', { command: 'ssh h touch /tmp/y' }, ['network', 'shell']],
    ['Bash', { command: 'touch ../y', workdir: 'sub' }, ['shell']],
    ['Bash', { command: 'cat .env' }, ['secret-path', 'shell']],
    ['Bash', { command: 'echo x > ~/a' }, ['outside-project', 'shell']],
    ['Bash', { command: 'echo x > /dev/null' }, ['shell']],
    ['Bash', { command: 'cp a /tmp/b' }, ['outside-project', 'shell']],
    ['Bash', { command: 'cp /tmp/b a' }, ['shell']],
    ['Bash', { command: 'tee /tmp/b' }, ['outside-project', 'shell']],
    ['Bash', { command: 'sed -i s/a/b/ /tmp/b' }, ['outside-project', 'shell']],
    ['Bash', { command: 'echo x > $OUT/a' }, ['outside-project', 'shell']],
    ['WebFetch', { url: 'https://a' }, ['network']],
    ['Task', { prompt: 'x', subagent_type: 'general' }, ['agent']],
    ['Glob', { pattern: '*' }, ['other']],
    [
      'apply_patch',
      { command: '*** Begin Patch\n*** Add File: /tmp/x\n+a\n*** End Patch' },
      ['outside-project', 'write'],
    ],
  ];
  for (const [name, input, expected] of CASES)
    void it(`${name} ${JSON.stringify(input)}`, () => assert.deepEqual(tags(name, input), expected));

  void it('marks tools of MCP servers', () => {
    assert.deepEqual(tags('mcp__notes__write', { text: 'x' }, { mcp: { server: 'notes', tool: 'write' } }), ['mcp']);
  });
});

void describe('redaction', () => {
  const SECRETS: readonly [string, string][] = [
    ['curl -H "Authorization: Bearer abc123def456ghi"', 'abc123def456ghi'],
    ['export AWS_SECRET_ACCESS_KEY=abcd1234efgh5678', 'abcd1234efgh5678'],
    ['DB_PASSWORD=hunter2x npm start', 'hunter2x'],
    ['psql postgres://me:s3cr3tpw@db/x', 's3cr3tpw'],
    ['echo ghp_0123456789abcdefghijABCDEFGHIJ012345', 'ghp_0123456789abcdefghijABCDEFGHIJ012345'],
    ['const password = "correcthorse"', 'correcthorse'],
    ['{"apiKey": "abcdefgh12345678"}', 'abcdefgh12345678'],
    ['PGPASSWORD=correcthorse psql -h db', 'correcthorse'],
    ["export BFF_TOKEN='correcthorse' && ./run", 'correcthorse'],
    ['docker run -e POSTGRES_PASSWORD=correcthorse postgres', 'correcthorse'],
    ['docker build --build-arg=NPM_TOKEN=correcthorse .', 'correcthorse'],
    ['curl -u admin:correcthorse https://a', 'correcthorse'],
    ['curl --user=admin:correcthorse https://a', 'correcthorse'],
    ['curl -H "Authorization: token correcthorse" https://a', 'correcthorse'],
    ["curl -H'X-Api-Key: correcthorse' https://a", 'correcthorse'],
    ['tool login --password correcthorse', 'correcthorse'],
    ['tool login --api-key=correcthorse', 'correcthorse'],
    ['mysql -u root -pcorrecthorse app', 'correcthorse'],
    ['redis-cli -a correcthorse ping', 'correcthorse'],
    ["sshpass -p 'correct horse' ssh host true", 'correct horse'],
    ['aws configure set aws_secret_access_key correcthorse', 'correcthorse'],
    ['heroku config:set API_TOKEN=correcthorse', 'correcthorse'],
    ['bash -c "mysql -pcorrecthorse app"', 'correcthorse'],
    ['sudo docker login -u me --password correcthorse', 'correcthorse'],
    ['echo "api_key: horse7battery" >> c.yaml', 'horse7battery'],
  ];
  for (const [command, secret] of SECRETS)
    void it(`removes the secret of ${JSON.stringify(command)}`, () => {
      const { args, found } = redactArguments({ command }, { withholdContent: false, isShell: true });
      assert.equal(found, true);
      assert.ok(!JSON.stringify(args).includes(secret), JSON.stringify(args));
    });

  for (const command of [
    'const token = await fetchToken();',
    'password: string;',
    'git log --author=me',
    'apiKey = process.env.KEY',
    'TOKEN=$OTHER1 x',
    'docker run -p 8080:80 -e PORT=8080 image',
    'mkdir -p source/tokens',
    'curl -H "Accept: application/json" https://a',
    'mysql -p application',
    'echo tokens are counted; git commit -m "password reset page"',
    'gh auth login --with-token',
    'tool --password $PASSWORD',
    'docker login --password-stdin',
    'x = "[secret:jwt]"',
  ])
    void it(`leaves ${JSON.stringify(command)}`, () => {
      assert.deepEqual(redactArguments({ command }, { withholdContent: false, isShell: true }), {
        args: { command },
        found: false,
        changed: false,
      });
    });

  void it('removes the values of secret variables of the environment, in any argument', () => {
    const args = { command: 'echo open sesame now', note: ['say open sesame'] };
    const redacted = redactArguments(args, { withholdContent: false, isShell: true, values: ['open sesame'] });
    assert.deepEqual(redacted.args, { command: 'echo [secret:value] now', note: ['say [secret:value]'] });
    assert.equal(redacted.found, true);
    assert.equal(redactText('sent open sesame', ['open sesame']), 'sent [secret:value]');
  });

  void it('reads secret variables of a process, on Linux', { skip: process.platform !== 'linux' }, () => {
    const child = spawn('sleep', ['60'], {
      env: { DEPLOY_TOKEN: 'open-sesame', SHORT_TOKEN: 'x', EDITOR: 'vim-and-more' },
    });
    try {
      assert.deepEqual(secretEnvironment(child.pid), ['open-sesame']);
    } finally {
      child.kill();
    }
    assert.deepEqual(secretEnvironment(undefined), []);
  });

  void it('keeps the contents of files on this machine when asked to', () => {
    const { args, changed } = redactArguments({ path: 'a', content: 'text' }, { withholdContent: true });
    assert.equal(changed, true);
    assert.deepEqual(Object.keys(args), ['path', 'contentLength', 'contentSha256']);
  });

  void it('names equal calls alike, in any order of their arguments', () => {
    assert.equal(signatureOf('Bash', { a: 1, b: [2] }), signatureOf('Bash', { b: [2], a: 1 }));
    assert.notEqual(signatureOf('Bash', { a: 1 }), signatureOf('Bash', { a: '1' }));
  });
});
