import { createTwoFilesPatch } from 'diff';
import { type AgentContext, ResourceKey } from '../../core/agent-context.ts';
import { AgentError } from '../../core/agent-error.ts';
import { ToolResult } from '../../core/message.ts';
import { type Tool, tool } from '../tool.ts';

/** Content hash of each file the agent has read: it must not change what it has not read. */
const READ_FILES = ResourceKey<Map<string, string>>('read files');

function readFilesOf(context: AgentContext): Map<string, string> {
  const known = context.getResource(READ_FILES);
  if (known !== undefined) return known;
  const made = new Map<string, string>();
  context.insertResource(READ_FILES, made);
  return made;
}

interface ReadInput {
  readonly path: string;
  readonly offset?: number;
  readonly limit?: number;
}

const DEFAULT_LINES = 2_000;
const MAX_LINE_CHARS = 2_000;

/** Reads lines of a text file, numbered from 1. */
export function readTool(): Tool {
  return tool<ReadInput>({
    name: 'read',
    description: 'Reads a text file. Returns its lines with their numbers; `offset` is the first line, from 1.',
    category: 'read',
    idempotent: true,
    input: {
      type: 'object',
      properties: {
        path: { type: 'string', minLength: 1 },
        offset: { type: 'integer', minimum: 1 },
        limit: { type: 'integer', minimum: 1, maximum: 10_000 },
      },
      required: ['path'],
      additionalProperties: false,
    },
    info: ({ path }) => ({ actionDescription: `Read ${path}` }),
    pathsOf: ({ path }) => [path],
    async execute({ path, offset = 1, limit = DEFAULT_LINES }, context) {
      const { text, hash } = await context.host.files.read(path);
      readFilesOf(context).set(await context.host.files.resolve(path), hash);
      const lines = text.split('\n');
      const shown = lines.slice(offset - 1, offset - 1 + limit);
      const numbered = shown.map((line, index) => `${offset + index}\t${line.slice(0, MAX_LINE_CHARS)}`);
      const left = lines.length - (offset - 1 + shown.length);
      return numbered.join('\n') + (left > 0 ? `\n[${left} more lines]` : '');
    },
  });
}

interface WriteInput {
  readonly path: string;
  readonly content: string;
}

/** Writes a whole file. An existing file must have been read and not have changed since. */
export function writeTool(): Tool {
  return tool<WriteInput>({
    name: 'write',
    description: 'Writes a whole text file. To replace an existing file, read it first.',
    category: 'write',
    input: {
      type: 'object',
      properties: { path: { type: 'string', minLength: 1 }, content: { type: 'string' } },
      required: ['path', 'content'],
      additionalProperties: false,
    },
    info: ({ path, content }) => ({ actionDescription: `Write ${path}`, details: content.slice(0, 2_000) }),
    pathsOf: ({ path }) => [path],
    async execute({ path, content }, context) {
      const { files } = context.host;
      const seen = readFilesOf(context);
      const real = await files.resolve(path);
      const { hash } = await files.write(path, content, { ifHash: seen.get(real) ?? null }).catch((error: unknown) => {
        if (!seen.has(real) && error instanceof AgentError && error.code === 'conflict')
          throw new AgentError('conflict', `${path} exists already: read it before replacing it`);
        throw error;
      });
      seen.set(real, hash);
      return `wrote ${Buffer.byteLength(content)} bytes to ${path}`;
    },
  });
}

interface EditInput {
  readonly path: string;
  readonly oldText: string;
  readonly newText: string;
  readonly replaceAll?: boolean;
}

/**
 * Replaces a text in a file that was read before. The text must occur exactly once, unless all occurrences are meant.
 */
export function editTool(): Tool {
  return tool<EditInput>({
    name: 'edit',
    description:
      'Replaces oldText with newText in a file that was read before. oldText must occur exactly once; ' +
      'set replaceAll to replace every occurrence. Answers the change as a diff.',
    category: 'write',
    input: {
      type: 'object',
      properties: {
        path: { type: 'string', minLength: 1 },
        oldText: { type: 'string', minLength: 1 },
        newText: { type: 'string' },
        replaceAll: { type: 'boolean' },
      },
      required: ['path', 'oldText', 'newText'],
      additionalProperties: false,
    },
    info: ({ path, oldText, newText }) => ({
      actionDescription: `Edit ${path}`,
      details: createTwoFilesPatch(path, path, oldText, newText, '', '', { context: 2 }),
    }),
    pathsOf: ({ path }) => [path],
    async execute({ path, oldText, newText, replaceAll = false }, context) {
      const { files } = context.host;
      const seen = readFilesOf(context);
      const real = await files.resolve(path);
      const ifHash = seen.get(real);
      if (ifHash === undefined) return ToolResult.error('conflict', `Read ${path} before editing it.`);
      const { text, hash } = await files.read(path);
      if (hash !== ifHash) return ToolResult.error('conflict', `${path} has changed since it was read: read it again.`);
      const count = text.split(oldText).length - 1;
      if (count === 0) return ToolResult.error('tool_failed', `oldText is not in ${path}.`);
      if (count > 1 && !replaceAll)
        return ToolResult.error('tool_failed', `oldText is ${count} times in ${path}: give more of what is around it.`);
      const changed = text.split(oldText).join(newText);
      const written = await files.write(path, changed, { ifHash });
      seen.set(real, written.hash);
      return createTwoFilesPatch(path, path, text, changed, '', '', { context: 3 });
    },
  });
}
