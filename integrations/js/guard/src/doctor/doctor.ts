import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import type { HostId } from '../hosts/host.ts';
import { HOSTS } from '../hosts/index.ts';
import { hostFiles } from '../install/host-files.ts';
import { type Installation, installHost, stopResident } from '../install/install.ts';
import { hookCommand } from '../install/launcher.ts';
import { DEFAULT_SETTINGS, type Env, guardPaths, type HostSettings, writeConfig } from '../state.ts';
import { prepareHome, runHost, SHELL_TOOLS, shellInput, type Stage, stageEnv } from './drive.ts';
import { startModelServer } from './model-server.ts';

export interface DoctorCheck {
  readonly name: string;
  readonly ok: boolean;
}

export interface DoctorReport {
  readonly host: HostId;
  readonly version: string | undefined;
  readonly checks: readonly DoctorCheck[];
  /** What the host printed, for a check that failed. */
  readonly output: string;
}

const REFUSED = 'refused.txt';
const ALLOWED = 'allowed.txt';
const CRASHED = 'crashed.txt';

/**
 * Proves that the installed binary obeys: starts it in an empty home, with a model on loopback that makes a call that is
 * allowed, one that is refused, and one while the guard is broken. Nothing leaves the machine.
 */
export async function proveHost({ env, paths, runtime }: Installation, id: HostId): Promise<DoctorReport> {
  const base = dirname(paths.journal);
  mkdirSync(base, { recursive: true, mode: 0o700 });
  // Not below the system's temporary folder, which Codex does not accept as a home.
  const folder = mkdtempSync(join(base, 'doctor-'));
  const [platform, platformUrl] = await startStub();
  const commands = [`echo x > ${ALLOWED}`, `echo x > ${REFUSED}`];
  const after = [`echo x > ${CRASHED}`];
  let script = commands;
  const model = await startModelServer(({ turn }) => {
    const command = script[turn];
    return command === undefined
      ? { text: 'done' }
      : { calls: [{ name: SHELL_TOOLS[id], input: shellInput(id, command) }] };
  });
  const stage: Stage = {
    home: folder,
    project: join(folder, 'project'),
    modelUrl: model.url,
    binary: HOSTS[id].binary,
  };
  const staged: Installation = { env: stageEnv(id, stage, env), runtime, paths: guardPaths(stageEnv(id, stage, env)) };
  const wasMade = (name: string) => existsSync(join(stage.project, name));
  try {
    prepareHome(id, stage);
    writeConfig(staged.paths, { url: platformUrl, key: 'doctor', content: 'full', killHost: false, hosts: {} });
    const settings = { ...DEFAULT_SETTINGS, mode: 'enforce', wait: 5 } as const;
    const { version } = await installHost(staged, id, settings, { untested: true });
    const first = await runHost(id, stage, 'Follow the instructions.', { env });
    const checks: DoctorCheck[] = [
      { name: 'an allowed call runs', ok: wasMade(ALLOWED) },
      { name: 'a refused call does not run', ok: wasMade(ALLOWED) && !wasMade(REFUSED) },
    ];
    if (id !== 'opencode')
      checks.push({ name: 'a refusal holds in your shell', ok: await holdsInShell(staged, id, settings, env) });
    await stopResident(staged.paths);
    breakGuard(staged, id);
    script = after;
    const second = await runHost(id, stage, 'Follow the instructions.', { env });
    checks.push({ name: 'no call runs while the guard is broken', ok: !wasMade(CRASHED) });
    return { host: id, version, checks, output: `${first.output}\n${second.output}` };
  } finally {
    await stopResident(staged.paths);
    await model.close();
    platform.closeAllConnections();
    platform.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Runs the hook of a refused call as hosts do: through the user's own shell, with the user's own environment. A file
 * that the shell reads first may print a line or change how programs run.
 */
function holdsInShell({ paths }: Installation, id: HostId, settings: HostSettings, env: Env): Promise<boolean> {
  const [event = ''] = Object.entries(HOSTS[id].events).find(([, kind]) => kind === 'before') ?? [];
  const args = shellInput(id, `echo x > ${REFUSED}`);
  const call = {
    ...{ session_id: 'doctor', tool_name: SHELL_TOOLS[id], tool_input: args, tool_use_id: 'doctor', cwd: '/' },
    ...{ sessionId: 'doctor', toolName: SHELL_TOOLS[id], toolArgs: JSON.stringify(args) },
  };
  return new Promise((resolve, reject) => {
    const words = ['-c', hookCommand(paths.launcher, id, event, settings)];
    const child = spawn(env.SHELL || '/bin/sh', words, { env, stdio: ['pipe', 'ignore', 'ignore'] });
    child.once('error', reject);
    child.once('close', (code) => resolve(code === 2));
    // A shell that ends early does not read.
    child.stdin.on('error', () => undefined);
    child.stdin.end(JSON.stringify(call));
  });
}

/** The launcher crashes; the plugin of OpenCode finds no process and cannot start one. */
function breakGuard({ env, paths, runtime }: Installation, id: HostId): void {
  if (id !== 'opencode') {
    writeFileSync(paths.launcher, '#!/bin/sh\nexit 1\n');
    return;
  }
  const settings = { ...DEFAULT_SETTINGS, mode: 'enforce' } as const;
  const serve = [runtime.node, '/nowhere/agentlens-hook.js'];
  for (const file of hostFiles(HOSTS[id], { env, home: env.HOME ?? '', paths, settings, serve }))
    writeFileSync(file.path, file.add(readFileSync(file.path, 'utf8')));
}

/** A platform that refuses one command and allows everything else. */
async function startStub(): Promise<[Server, string]> {
  const server = createServer((incoming, outgoing) => {
    let body = '';
    incoming.setEncoding('utf8');
    incoming.on('data', (part: string) => {
      body += part;
    });
    incoming.on('end', () => {
      const isRefused = incoming.url?.endsWith('/evaluate') === true && body.includes(REFUSED);
      const decision = isRefused
        ? { verdict: 'BLOCK', cause: { kind: 'RULE_VIOLATION', ruleId: 'doctor' }, message: 'Refused by the doctor' }
        : { verdict: 'ALLOW', cause: { kind: 'ALLOW' }, message: 'Allowed' };
      outgoing.writeHead(200, { 'content-type': 'application/json' });
      outgoing.end(JSON.stringify({ ...decision, control: 'CONTINUE' }));
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return [server, `http://127.0.0.1:${(server.address() as AddressInfo).port}`];
}
