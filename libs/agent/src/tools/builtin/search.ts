import { RE2JS } from 're2js';
import { isAgentError } from '../../core/agent-error.ts';
import { ToolResult } from '../../core/message.ts';
import { type Tool, tool } from '../tool.ts';

const MAX_LISTED_FILES = 500;

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
        limit: MAX_LISTED_FILES + 1,
      });
      const shown = found.slice(0, MAX_LISTED_FILES).join('\n');
      if (found.length === 0) return 'no files';
      return found.length > MAX_LISTED_FILES
        ? `${shown}\n[more than ${MAX_LISTED_FILES} files: use a narrower pattern]`
        : shown;
    },
  });
}

interface GrepInput {
  readonly pattern: string;
  readonly path?: string;
  readonly glob?: string;
}

const MAX_HITS = 200;
const MAX_SEARCHED_FILES = 2_000;
const MAX_LINE_CHARS = 300;

/** Finds lines by an RE2 pattern, which matches in linear time. */
export function grepTool(): Tool {
  return tool<GrepInput>({
    name: 'grep',
    description:
      'Finds lines that match a regular expression (RE2 syntax) in the files below `path` that match `glob`. ' +
      'Returns path:line:text.',
    category: 'read',
    idempotent: true,
    input: {
      type: 'object',
      properties: { pattern: { type: 'string', minLength: 1 }, path: { type: 'string' }, glob: { type: 'string' } },
      required: ['pattern'],
      additionalProperties: false,
    },
    info: ({ pattern, path }) => ({ actionDescription: `Search ${pattern}${path === undefined ? '' : ` in ${path}`}` }),
    pathsOf: ({ path = '.' }) => [path],
    async execute({ pattern, path, glob = '**/*' }, context) {
      const compiled = compile(pattern);
      if (compiled === null) return ToolResult.error('invalid_input', 'The pattern is not a valid RE2 pattern.');
      const { files } = context.host;
      const names = await files.list(glob, {
        ...(path === undefined ? {} : { folder: path }),
        limit: MAX_SEARCHED_FILES,
      });
      const hits: string[] = [];
      for (const name of names) {
        context.signal.throwIfAborted();
        const text = await files.read(name).then(
          (file) => file.text,
          (error: unknown) => {
            // Not text, too large, or deleted since.
            if (isAgentError(error)) return '';
            throw error;
          },
        );
        for (const [index, line] of text.split('\n').entries()) {
          if (!compiled.matcher(line.slice(0, 10_000)).find()) continue;
          hits.push(`${name}:${index + 1}:${line.slice(0, MAX_LINE_CHARS)}`);
          if (hits.length >= MAX_HITS)
            return `${hits.join('\n')}\n[more than ${MAX_HITS} lines: use a narrower pattern]`;
        }
      }
      return hits.length === 0 ? 'no matches' : hits.join('\n');
    },
  });
}

function compile(pattern: string): RE2JS | null {
  try {
    return RE2JS.compile(pattern);
  } catch {
    return null;
  }
}
