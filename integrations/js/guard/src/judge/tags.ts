import { realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join, resolve, sep } from 'node:path';
import type { ToolUse } from '../hosts/host.ts';
import { shellFindings, type ShellPath } from './shell.ts';
import { type GuardedCall, knownTool } from './tools.ts';

export interface TagContext {
  /** The folder that the session works in. */
  readonly project: string | undefined;
  /** Where relative paths begin, if not in `project`. */
  readonly cwd?: string;
  readonly home?: string;
  /** Folder with the guard's own files. */
  readonly guardFolder: string;
  /** Scripts that this session has written. */
  readonly written?: ReadonlySet<string>;
}

const SECRET_PATH =
  /(?:^|\/)(?:\.env(?:\.(?!example|sample|template|dist)[\w.-]+)?|\.netrc|\.pgpass|\.npmrc|\.pypirc|\.git-credentials|\.htpasswd|id_(?:rsa|dsa|ecdsa|ed25519)|[^/]*\.(?:pem|p12|pfx|keystore|jks|kdbx)|credentials(?:\.\w+)?|secrets?\.(?:ya?ml|json|toml)|service-account[^/]*\.json)$|(?:^|\/)\.(?:ssh|aws|azure|gnupg|kube|docker\/config\.json|config\/gcloud|config\/gh|cargo\/credentials)(?:\/|$)|\/proc\/[^/]+\/environ$/i;

const GUARD_PATH =
  /(?:^|\/)(?:\.claude\/settings(?:\.local)?\.json|managed-settings\.json|\.codex\/(?:hooks\.json|config\.toml|requirements\.toml)|\.gemini\/settings\.json|\.qwen\/settings\.json|\.kimi-code\/config\.toml|\.copilot\/hooks(?:\/|$)|\.github\/hooks(?:\/|$)|(?:\.config\/opencode|\.opencode)\/plugins?(?:\/|$)|agentlens\/guard(?:\/|$))/;

/** Folders that hold such files: to move or remove one takes the files along. */
const GUARD_FOLDER =
  /(?:^|\/)(?:\.claude|\.codex|\.gemini|\.qwen|\.kimi-code|\.copilot|\.opencode|\.config\/opencode|\.config\/agentlens|\.config|\.github)\/?$/;

/** Content that turns hooks off. */
const GUARD_WORDS = /disableAllHooks|hooksConfig|features\.hooks|hooks\s*=\s*false|allowManagedHooksOnly/;

/** Tags of a call, worked out on this machine so that rules need no patterns. */
export function tagsOf(use: ToolUse, call: GuardedCall, context: TagContext): string[] {
  const tags = new Set<string>();
  const known = knownTool(use);
  tags.add(use.mcp === undefined ? (known?.tag ?? 'other') : 'mcp');
  if (call.tool === 'shell') tagShell(tags, call, context);
  else {
    const given = [call.args.path, ...(Array.isArray(call.args.paths) ? call.args.paths : [])];
    const paths = given.filter((path) => typeof path === 'string').map((text) => located(text, context));
    if (tags.has('write') && GUARD_WORDS.test([call.args.content, call.args.new, call.args.patch].join('\n')))
      tags.add('guard-files');
    tagPaths(tags, { paths, writes: known?.tag === 'write' || known?.tag === 'read' ? paths : [], moves: [] }, context);
  }
  return [...tags].sort();
}

function tagShell(tags: Set<string>, { args }: GuardedCall, context: TagContext): void {
  const { project, home = homedir(), written } = context;
  const folder = typeof args.cwd === 'string' ? absolute(args.cwd, context) : (context.cwd ?? project ?? sep);
  const found = shellFindings(typeof args.command === 'string' ? args.command : '', { folder, home });
  for (const tag of found.tags) tags.add(tag);
  if (found.disarms) tags.add('guard-files');
  if (found.paths.some(({ path }) => path !== null && written?.has(path) === true)) tags.add('opaque');
  tagPaths(tags, found, context);
}

type Paths = Readonly<Record<'paths' | 'writes' | 'moves', readonly ShellPath[]>>;

function tagPaths(tags: Set<string>, { paths, writes, moves }: Paths, context: TagContext): void {
  if (paths.some(({ text }) => SECRET_PATH.test(unified(text)))) tags.add('secret-path');
  if (paths.some((path) => isGuardFile(path, context)) || moves.some((path) => holdsGuardFile(path, context)))
    tags.add('guard-files');
  if (writes.some((path) => isOutside(path, context))) tags.add('outside-project');
}

export function absolute(path: string, { project, cwd = project, home = homedir() }: TagContext): string {
  const expanded = path.replace(/^~(?=\/|$)|^\$\{?HOME\}?(?=\/|$)/, home);
  return resolve(cwd ?? sep, expanded);
}

function located(text: string, context: TagContext): ShellPath {
  return { text, path: absolute(text, context) };
}

function isGuardFile({ text, path }: ShellPath, { guardFolder }: TagContext): boolean {
  const whole = path ?? text;
  return GUARD_PATH.test(unified(whole)) || whole === guardFolder || whole.startsWith(guardFolder + sep);
}

function holdsGuardFile({ text, path }: ShellPath, { guardFolder, home = homedir() }: TagContext): boolean {
  const whole = path ?? text;
  return GUARD_FOLDER.test(unified(whole)) || whole === home || guardFolder.startsWith(`${whole}${sep}`);
}

/** Places that no project owns and that any program may write to. */
const HARMLESS = /^\/dev\/(?:null|stdout|stderr|tty|fd\/\d+)$/;

function isOutside({ path }: ShellPath, { project }: TagContext): boolean {
  if (project === undefined || (path !== null && HARMLESS.test(path))) return false;
  // A variable and an unknown folder may lead anywhere.
  if (path === null) return true;
  const [inside, whole] = [real(project), real(path)];
  return whole !== inside && !whole.startsWith(inside.endsWith(sep) ? inside : inside + sep);
}

/** The path with links resolved, as far as it exists. */
function real(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    // It does not exist yet: its nearest existing parent decides.
    const parent = dirname(path);
    return parent === path ? path : join(real(parent), basename(path));
  }
}

function unified(path: string): string {
  return path.replaceAll('\\', '/');
}
