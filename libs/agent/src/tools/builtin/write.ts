import { AgentError } from '../../core/agent-error.ts';
import { type Tool, tool } from '../tool.ts';
import { readFilesOf } from './read-files.ts';

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
