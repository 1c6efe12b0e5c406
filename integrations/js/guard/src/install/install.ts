import { copyFileSync, existsSync, readdirSync, rmdirSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import type { HostContract, HostId } from '../hosts/host.ts';
import { HOSTS, matchVersion, type VersionMatch } from '../hosts/index.ts';
import { askResident, residentAnswers } from '../resident/ask-resident.ts';
import {
  type Env,
  type GuardPaths,
  GuardStateError,
  type HostSettings,
  makePrivateFolder,
  readConfig,
  writeConfig,
  writeWhole,
} from '../state.ts';
import { CodexTrustError, trustCodexHooks } from './codex-trust.ts';
import { type HostFile, hostFiles } from './host-files.ts';
import {
  addToFiles,
  hashOf,
  type InstalledFile,
  isUnchanged,
  modeOf,
  readBytes,
  readInstalled,
  removeFolders,
  type Restored,
  restoreFile,
  versionOf,
  writeInstalled,
} from './installed.ts';
import { type HookRuntime, launcherText } from './launcher.ts';
import { removeTrust } from './toml-text.ts';

export interface Installation {
  readonly env: Env;
  readonly paths: GuardPaths;
  /** Runs the slow path; `bundle` is a single file that can be copied. */
  readonly runtime: HookRuntime & { readonly bundle: boolean };
}

export interface InstallReport {
  readonly host: HostId;
  readonly title: string;
  readonly version: string | undefined;
  readonly match: VersionMatch;
  readonly settings: HostSettings;
  readonly files: readonly string[];
}

/**
 * Puts a host under the guard. Repeating it with other settings rewrites what is ours. @throws GuardStateError, and
 * nothing has changed
 */
export async function installHost(
  installation: Installation,
  id: HostId,
  settings: HostSettings,
  { untested = false } = {},
): Promise<InstallReport> {
  const { env, paths } = installation;
  const contract = HOSTS[id];
  const config = readConfig(paths.config);
  if (config === undefined) throw new GuardStateError('no key and no address yet; run: agentlens guard setup');
  const version = versionOf(contract, env.PATH);
  const match = matchVersion(contract, version);
  if (settings.mode === 'enforce' && !untested && (match === 'older' || match === 'unknown'))
    throw new GuardStateError(unprovenReason(contract, version));
  const known = readInstalled(paths);
  const runtime = placeRuntime(installation);
  const stateFolder = dirname(paths.journal);
  makePrivateFolder(paths.folder);
  writeWhole(paths.launcher, launcherText(paths, stateFolder, runtime), 0o700);
  const given = { ...settings, version };
  writeConfig(paths, { ...config, hosts: { ...config.hosts, [id]: given } });
  const earlier = known[id]?.files ?? [];
  const since = known[id]?.since ?? Date.now();
  const hooks = earlier.filter(({ path }) => !holdsTrust(id, path));
  const trusted = earlier.find(({ path }) => holdsTrust(id, path));
  const files = addToFiles(filesOf(installation, contract, given, runtime), hooks);
  writeInstalled(paths, {
    ...known,
    [id]: { files: trusted === undefined ? files : [...files, trusted], version, since },
  });
  if (id === 'codex') {
    const all = [...files, await trustHooks(installation, contract, trusted)];
    writeInstalled(paths, { ...known, codex: { files: all, version, since } });
  }
  // A running resident reads the settings by itself, but may be of another version.
  await stopResident(paths);
  return { host: id, title: contract.title, version, match, settings, files: files.map(({ path }) => path) };
}

function unprovenReason(contract: HostContract, version: string | undefined): string {
  const found =
    version === undefined ? `"${contract.binary} --version" printed no version` : `its version is ${version}`;
  return `${contract.title} is not proven to obey: ${found}, tested from ${contract.tested.from}. To enforce anyway: --untested`;
}

/** A bundle is copied, so that removing the CLI (or the cache of npx) does not stop the host. */
function placeRuntime({ paths, runtime }: Installation): HookRuntime {
  if (!runtime.bundle) return runtime;
  makePrivateFolder(paths.folder);
  const entry = join(paths.folder, basename(runtime.entry));
  if (entry !== runtime.entry) copyFileSync(runtime.entry, entry);
  return { ...runtime, entry };
}

function filesOf(
  { env, paths }: Installation,
  contract: HostContract,
  settings: HostSettings,
  runtime: HookRuntime,
): HostFile[] {
  const place = ['--folder', paths.folder, '--state', dirname(paths.journal)];
  const serve = [runtime.node, ...runtime.nodeArgs, runtime.entry, ...place, 'serve'];
  return hostFiles(contract, { env, home: env.HOME ?? homedir(), paths, settings, serve });
}

/** Whether the host itself writes into this file which hooks it trusts. */
const holdsTrust = (id: HostId, path: string) => id === 'codex' && path.endsWith('.toml');

/** Codex itself writes which hooks it trusts, into a file that has to be restored as well. */
async function trustHooks(
  { env, paths }: Installation,
  contract: HostContract,
  earlier: InstalledFile | undefined,
): Promise<InstalledFile> {
  const home = env.CODEX_HOME || join(env.HOME ?? homedir(), '.codex');
  const path = join(home, 'config.toml');
  const wasOurs = earlier !== undefined && isUnchanged(earlier);
  const before = wasOurs ? earlier.before : (readBytes(path)?.toString('base64') ?? null);
  const mode = wasOurs ? earlier.mode : modeOf(path);
  try {
    await trustCodexHooks(contract.binary, paths.launcher, { ...process.env, ...env }, env.HOME ?? homedir());
  } catch (error) {
    if (!(error instanceof CodexTrustError)) throw error;
    throw new GuardStateError(`${error.message}. Untrusted hooks are skipped: open codex and accept them under /hooks`);
  }
  const now = readBytes(path) ?? Buffer.alloc(0);
  return { path, before, mode, written: hashOf(now), folders: [] };
}

export interface OffReport {
  readonly host: HostId;
  readonly files: readonly { readonly path: string; readonly result: Restored }[];
}

/** Takes a host back to what it was. */
export async function uninstallHost(installation: Installation, id: HostId): Promise<OffReport | undefined> {
  const { env, paths } = installation;
  const known = readInstalled(paths);
  const host = known[id];
  if (host === undefined) return undefined;
  const config = readConfig(paths.config);
  const settings = config?.hosts[id];
  const files = settings === undefined ? [] : filesOf(installation, HOSTS[id], settings, installation.runtime);
  const hooksFile = join(env.CODEX_HOME || join(env.HOME ?? homedir(), '.codex'), 'hooks.json');
  const results = host.files.map((file) => {
    const own = holdsTrust(id, file.path)
      ? { path: file.path, add: (text: string) => text, remove: (text: string) => removeTrust(text, hooksFile) }
      : files.find(({ path }) => path === file.path);
    return { path: file.path, result: restoreFile(file, own) };
  });
  removeFolders(host.files);
  const { [id]: _removed, ...others } = known;
  writeInstalled(paths, others);
  if (config !== undefined) {
    const { [id]: _settings, ...hosts } = config.hosts;
    writeConfig(paths, { ...config, hosts });
  }
  if (Object.keys(others).length === 0) await removeGuard(installation);
  return { host: id, files: results };
}

/** Removes the guard's own folder after its last host. The journal stays. */
async function removeGuard({ paths }: Installation): Promise<void> {
  await stopResident(paths);
  for (const name of readdirSync(paths.folder)) rmSync(join(paths.folder, name), { force: true });
  for (const folder of [paths.folder, dirname(paths.folder)]) if (readdirSync(folder).length === 0) rmdirSync(folder);
}

const STOP_MS = 10_000;

export async function stopResident(paths: GuardPaths): Promise<boolean> {
  if (!existsSync(paths.socket) || !(await residentAnswers(paths))) return false;
  await askResident(paths, { method: 'POST', path: '/stop', timeoutMs: STOP_MS });
  // It answers until its last events are sent.
  for (const until = Date.now() + STOP_MS; Date.now() < until && (await residentAnswers(paths)); )
    await new Promise((resolve) => setTimeout(resolve, 20));
  return true;
}
