import { createTwoFilesPatch } from 'diff';
import { ToolResult } from '../../core/tool-result.ts';
import { type Tool, tool } from '../tool.ts';
import { readFilesOf } from './read-files.ts';

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
