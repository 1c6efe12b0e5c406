import { realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join, resolve, sep } from 'node:path';
import type { ToolUse } from '../hosts/host.ts';
import { shellFindings } from './shell-tags.ts';
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
  /(?:^|\/)(?:\.claude\/settings(?:\.local)?\.json|managed-settings\.json|\.codex\/(?:hooks\.json|config\.toml|requirements\.toml)|\.gemini\/settings\.json|\.qwen\/settings\.json|\.copilot\/hooks(?:\/|$)|\.github\/hooks(?:\/|$)|(?:\.config\/opencode|\.opencode)\/plugins?(?:\/|$)|agentlens\/guard(?:\/|$))/;

const GUARD_WORDS =
  /disableAllHooks|hooksConfig|features\.hooks|hooks\s*=\s*false|--disable[= ]hooks|--bare\b|--setting-sources|--pure\b|OPENCODE_PURE|--dangerously-bypass-hook-trust|allowManagedHooksOnly|agentlens[ -](?:guard|hook)|--unix-socket/;

/** Tags of a call, worked out on this machine so that rules need no patterns. */
export function tagsOf(use: ToolUse, call: GuardedCall, context: TagContext): string[] {
  const tags = new Set<string>();
  const known = knownTool(use);
  tags.add(use.mcp === undefined ? (known?.tag ?? 'other') : 'mcp');
  let paths: readonly string[] = [];
  let writes: readonly string[] = [];
  if (call.tool === 'shell') {
    const line = typeof call.args.command === 'string' ? call.args.command : '';
    const found = shellFindings(line);
    for (const tag of found.tags) tags.add(tag);
    ({ paths, writes } = found);
    if (paths.some((path) => context.written?.has(absolute(path, context)) === true)) tags.add('opaque');
    if (GUARD_WORDS.test(line)) tags.add('guard-files');
  } else {
    paths = [call.args.path, ...(Array.isArray(call.args.paths) ? call.args.paths : [])].filter(
      (path) => typeof path === 'string',
    );
    writes = tags.has('write') ? paths : [];
    if (tags.has('write') && GUARD_WORDS.test([call.args.content, call.args.new, call.args.patch].join('\n')))
      tags.add('guard-files');
  }
  if (paths.some((path) => SECRET_PATH.test(unified(path)))) tags.add('secret-path');
  if (paths.some((path) => isGuardFile(path, context))) tags.add('guard-files');
  if (writes.some((path) => isOutside(path, context))) tags.add('outside-project');
  if (known?.tag === 'read' && paths.some((path) => isOutside(path, context))) tags.add('outside-project');
  return [...tags].sort();
}

export function absolute(path: string, { project, cwd = project, home = homedir() }: TagContext): string {
  const expanded = path.replace(/^~(?=\/|$)|^\$\{?HOME\}?(?=\/|$)/, home);
  return resolve(cwd ?? sep, expanded);
}

function isGuardFile(path: string, context: TagContext): boolean {
  const whole = absolute(path, context);
  return (
    GUARD_PATH.test(unified(whole)) || whole === context.guardFolder || whole.startsWith(context.guardFolder + sep)
  );
}

/** Places that no project owns and that any program may write to. */
const HARMLESS = /^\/dev\/(?:null|stdout|stderr|tty|fd\/\d+)$/;

function isOutside(path: string, context: TagContext): boolean {
  const { project } = context;
  if (project === undefined || HARMLESS.test(path)) return false;
  // An unexpanded variable may lead anywhere.
  if (/\$(?!\{?HOME\b)/.test(path)) return true;
  const [inside, whole] = [real(project), real(absolute(path, context))];
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
