import { inputHashOf } from '../core/canonical.ts';
import type { Remember } from '../core/input-message.ts';
import type { Json } from '../core/json.ts';
import type { Tool } from '../tools/tool.ts';
import type { WhoAsks } from './evaluator.ts';
import { PermissionRule, type RuleMatcher } from './rule.ts';
import { readShellCommand } from './shell-command.ts';
import { refusePrefix } from './shell-programs.ts';

/**
 * The rule made from a remembered answer. For a shell command it applies to exactly this command, never to the whole
 * tool; a command that cannot be parsed is not remembered (null).
 */
export function rememberedRule(
  tool: Tool,
  input: Json,
  answer: { readonly decision: 'allow' | 'deny'; readonly remember: Remember },
  who: WhoAsks,
): PermissionRule | null {
  const matcher = matcherOf(tool, input, answer.decision);
  if (matcher === null) return null;
  const scope = {
    kind: 'user' as const,
    ...(answer.remember === 'session' ? { sessionId: who.sessionId } : {}),
    ...(answer.remember === 'agent' ? { agentType: who.agentType } : {}),
  };
  return {
    id: `${answer.decision} ${tool.name} ${inputHashOf(tool.name, input).slice(0, 8)} (${answer.remember})`,
    ...{ scope, priority: 0, matcher, decision: answer.decision },
    // A human who denied it may allow it later.
    ...(answer.decision === 'deny' ? { overridable: true } : {}),
    description: `remembered answer about ${tool.name}`,
  };
}

function matcherOf(tool: Tool, input: Json, decision: 'allow' | 'deny'): RuleMatcher | null {
  const command = tool.commandOf?.(input);
  if (command === undefined) return { kind: 'tool-name', name: tool.name };
  const { plain } = readShellCommand(command);
  if (plain === null || plain.length === 0) return null;
  // A prefix is split at blanks, so words with blanks cannot be a prefix.
  if (plain.flat().some((word) => /\s/.test(word) || word === '')) return null;
  if (decision === 'allow' && plain.some((words) => refusePrefix(words) !== null)) return null;
  return PermissionRule.allowBashPrefix(plain.map((words) => words.join(' '))).matcher;
}
