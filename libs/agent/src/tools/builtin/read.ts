import { type Tool, tool } from '../tool.ts';
import { readFilesOf } from './read-files.ts';

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
