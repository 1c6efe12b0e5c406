import type { JsonRecord, ToolUse } from '../hosts/host.ts';

/** A call in names that are the same for every host. */
export interface GuardedCall {
  readonly tool: string;
  readonly args: JsonRecord;
}

interface KnownTool {
  readonly name: string;
  readonly tag: string;
  /** Names that hosts use, in lower case. */
  readonly hosts: readonly string[];
  /** Arguments, each with the names that hosts use for it. */
  readonly args: Readonly<Record<string, readonly string[]>>;
}

const PATH = ['file_path', 'filePath', 'path', 'absolute_path', 'notebook_path', 'dir_path'];

export const TOOLS: readonly KnownTool[] = [
  {
    name: 'shell',
    tag: 'shell',
    hosts: ['bash', 'shell', 'run_shell_command', 'exec_command', 'local_shell', 'powershell', 'terminal'],
    args: {
      command: ['command', 'cmd', 'script'],
      background: ['run_in_background', 'is_background', 'background'],
      cwd: ['workdir', 'cwd', 'directory', 'dir_path'],
    },
  },
  {
    name: 'write_file',
    tag: 'write',
    hosts: ['write', 'write_file', 'create', 'create_file'],
    args: { path: PATH, content: ['content', 'file_text', 'contents'] },
  },
  {
    name: 'edit_file',
    tag: 'write',
    hosts: [
      'edit',
      'multiedit',
      'notebookedit',
      'notebook_edit',
      'replace',
      'apply_patch',
      'patch',
      'str_replace',
      'str_replace_editor',
    ],
    args: {
      path: PATH,
      old: ['old_string', 'oldString', 'old_str'],
      new: ['new_string', 'newString', 'new_str', 'new_source'],
      edits: ['edits'],
      patch: ['patch', 'patchText', 'patch_text', 'input', 'command'],
    },
  },
  {
    name: 'read_file',
    tag: 'read',
    hosts: ['read', 'read_file', 'readmediafile', 'view', 'view_image'],
    args: { path: PATH },
  },
  {
    name: 'web_fetch',
    tag: 'network',
    hosts: ['webfetch', 'web_fetch', 'fetch', 'fetchurl'],
    args: { url: ['url'], prompt: ['prompt'] },
  },
  {
    name: 'web_search',
    tag: 'network',
    hosts: ['websearch', 'web_search', 'google_web_search'],
    args: { query: ['query'] },
  },
  {
    name: 'agent',
    tag: 'agent',
    hosts: ['agent', 'agentswarm', 'task', 'invoke_agent', 'spawn_agent', 'collaborationspawn_agent'],
    args: { type: ['subagent_type', 'agent_type', 'agent_name', 'agentType'], prompt: ['prompt', 'message'] },
  },
];

const BY_NAME = new Map(TOOLS.flatMap((tool) => tool.hosts.map((name) => [name, tool] as const)));

/** The tool under its common name; `undefined` for MCP tools and tools of one host only. */
export function knownTool({ name, mcp }: ToolUse): KnownTool | undefined {
  return mcp === undefined ? BY_NAME.get(name.toLowerCase()) : undefined;
}

export function guardedCall(use: ToolUse): GuardedCall {
  if (use.mcp !== undefined) return { tool: `mcp.${use.mcp.server}.${use.mcp.tool}`, args: use.input };
  const known = knownTool(use);
  if (known === undefined) return { tool: use.name, args: use.input };
  const args: Record<string, unknown> = {};
  for (const [name, hostNames] of Object.entries(known.args)) {
    const found = hostNames.find((host) => use.input[host] !== undefined);
    if (found !== undefined) args[name] = use.input[found];
  }
  if (known.name === 'shell' && Array.isArray(args.command)) args.command = args.command.map(shellWord).join(' ');
  if (known.name === 'edit_file' && typeof args.patch === 'string') args.paths = pathsOfPatch(args.patch);
  return { tool: known.name, args };
}

/**
 * Arguments of the host with the changes that the platform made to the common ones. @returns null if a change has no
 * counterpart
 */
export function changedInput(use: ToolUse, asked: JsonRecord, changed: JsonRecord): JsonRecord | null {
  const known = knownTool(use);
  if (known === undefined) return { ...changed };
  const input: Record<string, unknown> = { ...use.input };
  for (const name of new Set([...Object.keys(asked), ...Object.keys(changed)])) {
    if (JSON.stringify(asked[name]) === JSON.stringify(changed[name])) continue;
    const hostNames = known.args[name] ?? [];
    const host = hostNames.find((one) => use.input[one] !== undefined) ?? hostNames[0];
    if (host === undefined || Array.isArray(use.input[host])) return null;
    if (changed[name] === undefined) delete input[host];
    else input[host] = changed[name];
  }
  return input;
}

/** Files that a patch in the form of `apply_patch` or of a unified diff names. */
export function pathsOfPatch(patch: string): string[] {
  const named = patch.matchAll(/^(?:\*\*\* (?:Add|Update|Delete) File: |\*\*\* Move to: |\+\+\+ (?:b\/)?)(.+)$/gm);
  return [...new Set([...named].map(([, path = '']) => path.trim()).filter((path) => path !== '/dev/null'))];
}

function shellWord(word: unknown): string {
  const text = String(word);
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
