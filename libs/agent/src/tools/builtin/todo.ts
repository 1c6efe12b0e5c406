import { ResourceKey } from '../../core/agent-context.ts';
import { type Tool, tool } from '../tool.ts';

export interface TodoItem {
  readonly text: string;
  readonly status: 'open' | 'doing' | 'done';
}

/** The agent's current list; a console may show it. */
export const TODO_LIST = ResourceKey<readonly TodoItem[]>('todo list');

/** Keeps the agent's todo list in the session's metadata under `todo`. */
export function todoTool(): Tool {
  return tool<{ items: TodoItem[] }>({
    name: 'todo',
    description: 'Replaces the todo list. Give the whole list each time; at most one item may be `doing`.',
    category: 'memory',
    requiresPermission: false,
    idempotent: true,
    input: {
      type: 'object',
      properties: {
        items: {
          type: 'array',
          maxItems: 100,
          items: {
            type: 'object',
            properties: { text: { type: 'string', minLength: 1 }, status: { enum: ['open', 'doing', 'done'] } },
            required: ['text', 'status'],
            additionalProperties: false,
          },
        },
      },
      required: ['items'],
      additionalProperties: false,
    },
    info: ({ items }) => ({ actionDescription: `Update the list of ${items.length} items` }),
    execute({ items }, context) {
      context.insertResource(TODO_LIST, items);
      context.setMetadata(
        'todo',
        items.map((item) => ({ ...item })),
      );
      const mark = { open: ' ', doing: '>', done: 'x' } as const;
      return items.map(({ text, status }) => `[${mark[status]}] ${text}`).join('\n');
    },
  });
}
