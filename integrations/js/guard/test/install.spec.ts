import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, it } from 'node:test';
import fc from 'fast-check';
import { HOST_IDS, type HostId } from '../src/hosts/host.ts';
import { HOSTS } from '../src/hosts/index.ts';
import { installHost, stopResident, uninstallHost, type Installation } from '../src/install/install.ts';
import { removeTrust } from '../src/install/toml-text.ts';
import { writeManaged } from '../src/install/managed.ts';
import { appendToArray, parseJsonText, removeItems } from '../src/install/json-text.ts';
import { DEFAULT_SETTINGS, guardPaths, type HostSettings, readConfig, writeConfig } from '../src/state.ts';
import { BLOCK, FakePlatform, TERMINATE } from './fake-platform.ts';

const ENFORCED: HostSettings = { ...DEFAULT_SETTINGS, mode: 'enforce', wait: 5 };
const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));

void describe('edits of JSON by position', () => {
  const EVENTS = ['PreToolUse', 'PostToolUse'];
  const ours = { matcher: '*', hooks: [{ type: 'command', command: '/x/agentlens/hook a b' }] };
  const add = (text: string) => EVENTS.reduce((all, event) => appendToArray(all, ['hooks', event], ours), text);
  const remove = (text: string) => removeItems(text, (item) => item.includes('/x/agentlens/hook'));

  const FILES = [
    '{}',
    '{ }\n',
    '{\n  "model": "x"\n}\n',
    '{"a":1}',
    '{\r\n\t"a": [1, 2],\r\n\t"b": {}\r\n}',
    '\uFEFF{"a": 1}\n',
    '{\n  // comment\n  "a": 1, /* b */\n}\n',
    '{"hooks": {}}',
    '{"hooks": {"PreToolUse": []}, "z": 1}',
    '{"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "mine"}]}]}}',
    '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}]}, "hooks2": "}"}',
    '{"a": "\\"{[", "hooks": {\n    "PreToolUse": [\n      {\n        "hooks": []\n      }\n    ]\n  }\n}',
  ];
  for (const file of FILES)
    void it(`adds to and removes from ${JSON.stringify(file)}`, () => {
      const added = add(file);
      const hooks = hooksOf(added);
      for (const event of EVENTS) assert.deepEqual(hooks[event]?.at(-1), ours);
      assert.deepEqual(meaning(remove(added)), meaning(file));
    });

  void it('keeps what a user adds beside it', () => {
    const added = add('{"a": 1}');
    const mine = appendToArray(added, ['hooks', 'PreToolUse'], { hooks: [{ type: 'command', command: 'mine' }] });
    assert.deepEqual(hooksOf(remove(mine)), { PreToolUse: [{ hooks: [{ type: 'command', command: 'mine' }] }] });
  });

  void it('keeps every value of any file', () => {
    const json = fc.dictionary(fc.string(), fc.jsonValue()).filter((value) => !('hooks' in value));
    const indent = fc.constantFrom(undefined, 1, 2, '\t');
    fc.assert(
      fc.property(json, indent, (value, space) => {
        const text = JSON.stringify(value, null, space);
        const { hooks, ...rest } = JSON.parse(add(text)) as Record<string, unknown>;
        assert.deepEqual(rest, JSON.parse(text));
        assert.deepEqual(Object.keys(hooks as object), EVENTS);
        assert.deepEqual(JSON.parse(remove(add(text)) || '{}'), JSON.parse(text));
      }),
    );
  });

  for (const [text, message] of [
    ['[1]', /the file must be an object/],
    ['{"hooks": []}', /hooks must be an object/],
    ['{"hooks": {"PreToolUse": {}}}', /hooks.PreToolUse must be a list/],
    ['{\n"a": }', /line 2/],
    ['{"a": 1} x', /after the value/],
    ['{"a" 1}', /":" is missing/],
  ] as const)
    void it(`rejects ${text}`, () => assert.throws(() => add(text), message));

  function meaning(text: string): unknown {
    return text === '' ? {} : withoutEmptyHooks(plainValue(parseJsonText(text)) as Record<string, unknown>);
  }
  function hooksOf(text: string): Record<string, unknown[]> {
    return (plainValue(parseJsonText(text)) as { hooks: Record<string, unknown[]> }).hooks;
  }
});

function plainValue(node: ReturnType<typeof parseJsonText>): unknown {
  if (node.kind === 'value') return node.value;
  if (node.kind === 'array') return node.items.map(plainValue);
  return Object.fromEntries(node.members.map(({ name, value }) => [name, plainValue(value)]));
}

/** Removing by position also removes lists that were empty before. */
function withoutEmptyHooks({ hooks, ...rest }: Record<string, unknown>): unknown {
  const kept = Object.entries((hooks ?? {}) as Record<string, unknown[]>).filter(([, list]) => list.length > 0);
  return kept.length === 0 ? rest : { ...rest, hooks: Object.fromEntries(kept) };
}

/** Settings files of each host, by their path in the home. */
const FILES: Readonly<Record<HostId, readonly string[]>> = {
  'claude-code': ['.claude/settings.json'],
  codex: ['.codex/hooks.json', '.codex/config.toml'],
  'gemini-cli': ['.gemini/settings.json'],
  'qwen-code': ['.qwen/settings.json'],
  'copilot-cli': ['.copilot/hooks/agentlens.json'],
  'kimi-code': ['.kimi-code/config.toml'],
  opencode: ['.config/opencode/plugins/agentlens.js'],
};

/** Stands in for `codex app-server`: lists the hooks of `hooks.json` and writes which are trusted. */
const CODEX = `#!/usr/bin/env node
const fs = require('node:fs');
const home = process.env.CODEX_HOME || process.env.HOME + '/.codex';
if (process.argv[2] === '--version') { console.log('codex-cli 0.169.0'); process.exit(0); }
const trusted = () => (fs.existsSync(home + '/config.toml') ? fs.readFileSync(home + '/config.toml', 'utf8') : '');
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  let result = {};
  if (method === 'hooks/list') {
    const file = home + '/hooks.json';
    const hooks = Object.entries(JSON.parse(fs.readFileSync(file, 'utf8')).hooks).flatMap(([event, groups]) =>
      groups.flatMap(({ hooks }, at) => hooks.map(({ command }, nth) => {
        const key = file + ':' + event + ':' + at + ':' + nth;
        return { key, command, currentHash: 'sha256:' + command.length, trustStatus: trusted().includes(key) ? 'trusted' : 'untrusted' };
      })));
    result = { data: [{ cwd: '/', hooks }] };
  }
  if (method === 'config/batchWrite')
    for (const [key, state] of Object.entries(params.edits[0].value))
      fs.appendFileSync(home + '/config.toml', '\\n[hooks.state."' + key + '"]\\ntrusted_hash = "' + state.trusted_hash + '"\\n');
  console.log(JSON.stringify({ id, result }));
});
`;

void describe('installation', () => {
  let home: string;
  let installation: Installation;
  let versions: Record<string, string>;

  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'guard-home-'));
    const bin = join(home, 'bin');
    mkdirSync(bin);
    versions = {};
    for (const { binary, tested } of Object.values(HOSTS)) {
      versions[binary] = tested.from;
      writeFileSync(
        join(bin, binary),
        binary === 'codex' ? CODEX : `#!/bin/sh\necho "${binary} $(cat "${home}/${binary}.version")"\n`,
        { mode: 0o755 },
      );
      writeFileSync(join(home, `${binary}.version`), tested.from);
    }
    const env = { HOME: home, PATH: `${bin}:${dirname(process.execPath)}:/usr/bin:/bin` };
    const runtime = { node: process.execPath, nodeArgs: process.execArgv, entry: main, bundle: false };
    installation = { env, paths: guardPaths(env), runtime };
    writeConfig(installation.paths, {
      url: 'http://127.0.0.1:9',
      key: 'agk_live_secret',
      content: 'full',
      killHost: false,
      hosts: {},
    });
  });
  afterEach(async () => {
    await stopResident(installation.paths);
    rmSync(home, { recursive: true, force: true });
  });

  /** Every file and link below the home, with content and mode. */
  function snapshot(folder = home): Record<string, string> {
    const found: Record<string, string> = {};
    const visit = (at: string) => {
      for (const name of readdirSync(at)) {
        const path = join(at, name);
        const info = lstatSync(path);
        if (info.isDirectory()) {
          found[path] = 'folder';
          visit(path);
        } else found[path] = `${info.mode} ${info.isSymbolicLink() ? 'link' : readFileSync(path, 'latin1')}`;
      }
    };
    visit(folder);
    return found;
  }
  const write = (path: string, content: string, mode = 0o644) => {
    mkdirSync(dirname(join(home, path)), { recursive: true });
    writeFileSync(join(home, path), content);
    chmodSync(join(home, path), mode);
  };
  const guardFiles = (all: Record<string, string>) =>
    Object.fromEntries(
      Object.entries(all).filter(
        ([path]) => !path.startsWith(join(home, '.config', 'agentlens')) && path !== join(home, '.config'),
      ),
    );

  const CONTENTS = ['{\r\n\t"model": "x"  ,\r\n // c\r\n}', '{"hooks":{"PreToolUse":[]}}', '{}', '{"a":"ü"}\n\n'];
  for (const id of HOST_IDS)
    void it(`restores every byte for ${HOSTS[id].title}`, async () => {
      // Codex reads JSON without comments.
      const contents = id === 'codex' ? CONTENTS.filter((content) => !content.includes('//')) : CONTENTS;
      for (const content of [undefined, ...contents]) {
        for (const file of FILES[id]) {
          rmSync(join(home, file), { force: true });
          if (content !== undefined) write(file, file.endsWith('.toml') ? '# mine\r\nmodel = "x"' : content, 0o640);
        }
        const before = guardFiles(snapshot());
        const key = {
          url: 'http://127.0.0.1:9',
          key: 'agk_live_secret',
          content: 'full',
          killHost: false,
          hosts: {},
        } as const;
        writeConfig(installation.paths, key);
        await installHost(installation, id, DEFAULT_SETTINGS);
        await installHost(installation, id, ENFORCED);
        assert.notDeepEqual(guardFiles(snapshot()), before);
        await uninstallHost(installation, id);
        assert.deepEqual(guardFiles(snapshot()), before);
        assert.equal(existsSync(installation.paths.folder), false);
      }
    });

  for (const id of HOST_IDS)
    void it(`keeps the key out of the files of ${HOSTS[id].title}`, async () => {
      await installHost(installation, id, ENFORCED);
      const holders = Object.entries(snapshot()).filter(([, content]) => content.includes('agk_live_secret'));
      assert.deepEqual(
        holders.map(([path]) => path),
        [installation.paths.config],
      );
      assert.equal(statSync(installation.paths.config).mode & 0o777, 0o600);
      assert.equal(statSync(installation.paths.folder).mode & 0o777, 0o700);
    });

  void it('follows a link and leaves it a link', async () => {
    write('dotfiles/claude.json', '{"a": 1}', 0o600);
    mkdirSync(join(home, '.claude'));
    symlinkSync(join(home, 'dotfiles/claude.json'), join(home, '.claude/settings.json'));
    const before = guardFiles(snapshot());
    await installHost(installation, 'claude-code', ENFORCED);
    assert.ok(lstatSync(join(home, '.claude/settings.json')).isSymbolicLink());
    assert.match(readFileSync(join(home, 'dotfiles/claude.json'), 'utf8'), /PreToolUse/);
    await uninstallHost(installation, 'claude-code');
    assert.deepEqual(guardFiles(snapshot()), before);
  });

  void it('removes only its own entries from a file that changed since', async () => {
    write('.claude/settings.json', '{\n  "a": 1\n}\n');
    await installHost(installation, 'claude-code', ENFORCED);
    const path = join(home, '.claude/settings.json');
    writeFileSync(path, readFileSync(path, 'utf8').replace('"a": 1', '"a": 2'));
    const report = await uninstallHost(installation, 'claude-code');
    assert.deepEqual(
      report?.files.map(({ result }) => result),
      ['entries removed'],
    );
    assert.deepEqual(JSON.parse(readFileSync(path, 'utf8')), { a: 2 });
  });

  void it('removes only its own tables from a TOML file that the host wrote again', async () => {
    write('.kimi-code/config.toml', 'theme = "dark"\n');
    await installHost(installation, 'kimi-code', ENFORCED);
    const path = join(home, '.kimi-code/config.toml');
    writeFileSync(path, readFileSync(path, 'utf8').replace('"dark"', '"light"'));
    const report = await uninstallHost(installation, 'kimi-code');
    assert.deepEqual(
      report?.files.map(({ result }) => result),
      ['entries removed'],
    );
    assert.equal(readFileSync(path, 'utf8'), 'theme = "light"\n');
  });

  void it('has one table for each event after a second installation', async () => {
    write('.kimi-code/config.toml', 'theme = "dark"\n');
    await installHost(installation, 'kimi-code', DEFAULT_SETTINGS);
    await installHost(installation, 'kimi-code', ENFORCED);
    const text = readFileSync(join(home, '.kimi-code/config.toml'), 'utf8');
    assert.equal(text.match(/^\[\[hooks\]\]$/gm)?.length, Object.keys(HOSTS['kimi-code'].events).length);
  });

  void it('changes nothing if a file cannot be read as JSON, and names the line', async () => {
    write('.gemini/settings.json', '{\n"a": 1,,\n}');
    const before = snapshot();
    await assert.rejects(installHost(installation, 'gemini-cli', ENFORCED), /settings\.json, line 2/);
    const { [installation.paths.config]: _config, [installation.paths.launcher]: _launcher, ...after } = snapshot();
    const { [installation.paths.config]: _before, ...rest } = before;
    assert.deepEqual(after, rest);
  });

  void it('enforces an older version only when told to', async () => {
    writeFileSync(join(home, 'claude.version'), '2.0.1');
    await assert.rejects(installHost(installation, 'claude-code', ENFORCED), /--untested/);
    assert.equal((await installHost(installation, 'claude-code', ENFORCED, { untested: true })).match, 'older');
    writeFileSync(join(home, 'claude.version'), '9.0.0');
    assert.equal((await installHost(installation, 'claude-code', ENFORCED)).match, 'newer');
    assert.equal(readConfig(installation.paths.config)?.hosts['claude-code']?.version, '9.0.0');
  });

  void it('writes what an administrator rolls out, without a key', () => {
    const folder = join(home, 'rollout');
    const entry = join(home, 'agentlens-hook.cjs');
    writeFileSync(entry, '// program');
    const runtime = { ...installation.runtime, entry, bundle: true };
    const rollout = { folder, url: 'https://a.example', node: '/usr/bin/node', runtime, settings: ENFORCED };
    writeManaged(['claude-code', 'codex', 'gemini-cli'], rollout);
    const read = (name: string) => readFileSync(join(folder, name), 'utf8');
    assert.deepEqual(Object.keys(JSON.parse(read('agentlens-guard/guard.json')) as object), [
      'url',
      'hosts',
      'content',
      'killHost',
    ]);
    const claude = JSON.parse(read('claude-code/managed-settings.json')) as Record<string, unknown>;
    assert.deepEqual([claude.allowManagedHooksOnly, claude.disableAllHooks], [true, false]);
    assert.match(read('codex/requirements.toml'), /^managed_dir = "\/etc\/agentlens-guard"$/m);
    assert.equal(spawnSync('sh', ['-n', join(folder, 'agentlens-guard/hook')]).status, 0);
    assert.match(read('agentlens-guard/hook'), /in=\$\(cat; echo x\); in=\$\{in%x\}$/m);
    assert.throws(() => writeManaged(['opencode'], rollout), /no managed settings/);
  });

  void it('removes only the states of its own hooks from config.toml', () => {
    const toml =
      '[a]\nx = 1\n\n[hooks.state."/h/hooks.json:pre:0:0"]\ntrusted_hash = "1"\n\n[hooks.state."/other:pre:0:0"]\ny = 2\n';
    assert.equal(removeTrust(toml, '/h/hooks.json'), '[a]\nx = 1\n\n[hooks.state."/other:pre:0:0"]\ny = 2\n');
  });

  void it('removes the table of states too if nothing else is in it', () => {
    const ours = '[hooks.state."/h/hooks.json:pre:0:0"]\ntrusted_hash = "1"\n';
    const removed = (toml: string) => removeTrust(toml, '/h/hooks.json');
    assert.equal(removed(`[a]\nx = 1\n\n[hooks.state]\n\n${ours}`), '[a]\nx = 1\n\n');
    assert.equal(removed(`[hooks.state]\n\n${ours}\n[b]\ny = 2\n`), '[b]\ny = 2\n');
    const others = '[hooks.state]\n\n[hooks.state."/other:pre:0:0"]\ny = 2\n';
    assert.equal(removed(`${others}${ours}`), others);
    assert.equal(removed(`[hooks.state]\nown = 1\n\n${ours}`), '[hooks.state]\nown = 1\n\n');
  });

  void describe('the launcher', () => {
    let platform: FakePlatform;
    beforeEach(async () => {
      platform = new FakePlatform();
      const url = await platform.start();
      writeConfig(installation.paths, { url, key: 'agk_live_secret', content: 'full', killHost: false, hosts: {} });
      await installHost(installation, 'claude-code', ENFORCED);
    });
    afterEach(() => platform.stop());

    const command = () => {
      const { hooks } = JSON.parse(readFileSync(join(home, '.claude/settings.json'), 'utf8')) as {
        hooks: Record<string, { hooks: { command: string }[] }[]>;
      };
      return hooks.PreToolUse?.[0]?.hooks[0]?.command ?? '';
    };
    const input = (id: string) =>
      JSON.stringify({
        session_id: 's',
        tool_name: 'Bash',
        tool_input: { command: 'ls\n' },
        tool_use_id: id,
        cwd: home,
      });
    const run = (id = 't1', env: NodeJS.ProcessEnv = { PATH: '/usr/bin:/bin' }) =>
      new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve) => {
        void import('node:child_process').then(({ execFile }) => {
          const child = execFile('/bin/sh', ['-c', command()], { env }, (error, stdout, stderr) => {
            resolve({ code: error === null ? 0 : typeof error.code === 'number' ? error.code : null, stdout, stderr });
          });
          // A launcher that ends early does not read.
          child.stdin?.on('error', () => undefined);
          child.stdin?.end(input(id));
        });
      });

    void it('starts the resident with its first call and asks it with the next', async () => {
      assert.deepEqual(await run('t1'), { code: 0, stdout: '', stderr: '' });
      platform.decide = () => BLOCK;
      // Without Node: only curl can answer.
      rmSync(join(home, 'bin'), { recursive: true });
      const { code, stdout, stderr } = await run('t2');
      assert.deepEqual([code, stderr], [2, 'Not this\n']);
      assert.match(stdout, /^\{.*"permissionDecision":"deny".*\}$/);
      assert.deepEqual(
        platform.questions.map(({ args }) => args),
        [{ command: 'ls\n' }, { command: 'ls\n' }],
      );
    });

    void it('works without curl', async () => {
      platform.decide = () => BLOCK;
      const { launcher } = installation.paths;
      writeFileSync(launcher, readFileSync(launcher, 'utf8').replaceAll('curl -q', '/nowhere/curl -q'));
      const { code, stdout, stderr } = await run('t1');
      assert.deepEqual([code, stderr], [2, 'Not this\n']);
      assert.match(stdout, /"deny"/);
    });

    void it('ends the turn by the answer where only the answer can', async () => {
      platform.decide = () => TERMINATE;
      const { code, stdout } = await run('t1');
      assert.equal(code, 0);
      assert.match(stdout, /"continue":false/);
    });

    const HOSTILE: readonly [string, () => NodeJS.ProcessEnv][] = [
      [
        'a program named curl that comes first',
        () => {
          writeFileSync(join(home, 'curl'), '#!/bin/sh\nexit 0\n', { mode: 0o755 });
          return { PATH: `${home}:/usr/bin:/bin` };
        },
      ],
      [
        'functions of the shell',
        () => ({ PATH: '/usr/bin:/bin', 'BASH_FUNC_curl%%': '() {  :; }', 'BASH_FUNC_printf%%': '() {  :; }' }),
      ],
      ['options of Node', () => ({ PATH: '/usr/bin:/bin', NODE_OPTIONS: '--require=/nowhere/x.js' })],
    ];
    for (const [name, environment] of HOSTILE)
      for (const started of [true, false])
        void it(`refuses in any environment: ${name}, ${started ? 'with' : 'without'} a resident`, async () => {
          if (started) await run('t0');
          platform.decide = () => BLOCK;
          const { code, stderr } = await run('t1', environment());
          assert.deepEqual([code, stderr], [2, 'Not this\n']);
        });

    void it('believes no socket in a folder that others may change', async () => {
      await run('t0');
      const { launcher, folder } = installation.paths;
      writeFileSync(launcher, readFileSync(launcher, 'utf8').replaceAll('curl -q', '/nowhere/curl -q'));
      chmodSync(folder, 0o777);
      const { code, stderr } = await run('t1');
      chmodSync(folder, 0o700);
      assert.equal(code, 2);
      assert.match(stderr, /another user owns or may change/);
    });

    const BROKEN: readonly [string, (launcher: string) => void][] = [
      ['is missing', (launcher) => rmSync(launcher)],
      ['crashes', (launcher) => writeFileSync(launcher, '#!/bin/sh\nexit 1\n')],
      ['fails without a word', (launcher) => writeFileSync(launcher, '#!/bin/sh\nexit 7\n')],
      ['is killed', (launcher) => writeFileSync(launcher, '#!/bin/sh\nkill -9 $$\n')],
      [
        'finds no entry',
        (launcher) => writeFileSync(launcher, readFileSync(launcher, 'utf8').replaceAll(main, '/gone/main.js')),
      ],
    ];
    for (const [name, breakIt] of BROKEN)
      void it(`refuses the call with exit code 2 and a text if the launcher ${name}`, async () => {
        breakIt(installation.paths.launcher);
        const { code, stdout, stderr } = await run();
        assert.deepEqual([code, stdout], [2, '']);
        assert.match(stderr, /AgentLens/);
      });

    void it('refuses the call if the resident does not answer in time', async () => {
      await run('t0');
      platform.decide = () => BLOCK;
      const text = readFileSync(installation.paths.launcher, 'utf8');
      // A server that accepts and never answers.
      writeFileSync(
        installation.paths.launcher,
        text.replaceAll('curl -q', 'false curl -q').replace('code=$?', 'code=28'),
      );
      const { code, stderr } = await run('t1');
      assert.equal(code, 2);
      assert.match(stderr, /did not answer within 10 s/);
    });

    void it('never disturbs an observed host', async () => {
      await installHost(installation, 'claude-code', DEFAULT_SETTINGS);
      rmSync(installation.paths.launcher);
      assert.equal((await run()).code, 0);
    });

    void it('gives the key to no process', async () => {
      await run();
      const processes = spawnSync('ps', ['axeww', '-o', 'command'], { encoding: 'utf8' }).stdout;
      assert.equal(processes.includes('agk_live_secret'), false);
    });
  });
});
