import { type Tool, tool } from '../tool.ts';

const MAX_FILES = 500;

/** Finds files by a pattern. */
export function globTool(): Tool {
  return tool<{ pattern: string; path?: string }>({
    name: 'glob',
    description: 'Finds files by a pattern such as `src/**/*.ts`, below `path`. Returns their paths, sorted.',
    category: 'read',
    idempotent: true,
    input: {
      type: 'object',
      properties: { pattern: { type: 'string', minLength: 1 }, path: { type: 'string' } },
      required: ['pattern'],
      additionalProperties: false,
    },
    info: ({ pattern, path }) => ({ actionDescription: `Find ${pattern}${path === undefined ? '' : ` in ${path}`}` }),
    pathsOf: ({ path = '.' }) => [path],
    async execute({ pattern, path }, context) {
      const found = await context.host.files.list(pattern, {
        ...(path === undefined ? {} : { folder: path }),
        limit: MAX_FILES + 1,
      });
      const shown = found.slice(0, MAX_FILES).join('\n');
      if (found.length === 0) return 'no files';
      return found.length > MAX_FILES ? `${shown}\n[more than ${MAX_FILES} files: use a narrower pattern]` : shown;
    },
  });
}
