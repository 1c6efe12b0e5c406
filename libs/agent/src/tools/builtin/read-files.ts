import type { AgentContext } from '../../core/agent-context.ts';
import { ResourceKey } from '../../core/resource-map.ts';

/** Content hash of each file the agent has read: it must not change what it has not read. */
const READ_FILES = ResourceKey<Map<string, string>>('read files');

export function readFilesOf(context: AgentContext): Map<string, string> {
  const known = context.getResource(READ_FILES);
  if (known !== undefined) return known;
  const made = new Map<string, string>();
  context.insertResource(READ_FILES, made);
  return made;
}
