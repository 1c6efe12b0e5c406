import type { Remember } from '../core/input-output.ts';
import { inputHashOf, type Json } from '../core/json.ts';
import type { Tool } from '../tools/tool.ts';
import type { WhoAsks } from './evaluator.ts';
import { readShellCommand } from './shell-command.ts';
import { refusePrefix } from '@agentlens/shell';

/** Where a rule applies. `user` rules were made by a human while an agent was running. */
export type RuleScope =
  | { readonly kind: 'global' }
  | { readonly kind: 'agent'; readonly agentType: string }
  | { readonly kind: 'session'; readonly sessionId: string }
  | { readonly kind: 'user'; readonly sessionId?: string; readonly agentType?: string };

export type RuleMatcher =
  | { readonly kind: 'tool-name'; readonly name: string }
  | { readonly kind: 'tool-category'; readonly category: string }
  /** Shell commands that begin with one of these, word by word. */
  | { readonly kind: 'command-prefix'; readonly prefixes: readonly string[] }
  /** Files a tool would touch, relative to the host's root. */
  | { readonly kind: 'path'; readonly glob: string }
  /** RE2 syntax, searched in the input as JSON with sorted keys. */
  | { readonly kind: 'regex'; readonly pattern: string }
  | { readonly kind: 'custom'; readonly test: (toolName: string, input: Json) => boolean }
  | { readonly kind: 'all' };

export type RuleDecision = 'allow' | 'deny' | 'ask-user';

export interface PermissionRule {
  readonly id: string;
  readonly scope: RuleScope;
  /** Within a scope the higher priority decides first. */
  readonly priority: number;
  readonly matcher: RuleMatcher;
  readonly decision: RuleDecision;
  readonly description?: string;
  /** A deny that other rules can override. Otherwise a deny overrides every allow in every scope. */
  readonly overridable?: boolean;
}

export type RuleOptions = Partial<Omit<PermissionRule, 'matcher' | 'decision'>>;

function make(decision: RuleDecision, matcher: RuleMatcher, options: RuleOptions = {}): PermissionRule {
  const { scope = { kind: 'global' }, priority = 0 } = options;
  const id = options.id ?? [decision, describeMatcher(matcher), describeScope(scope)].filter(Boolean).join(' ');
  return { ...options, id, scope, priority, matcher, decision };
}

const tool = (name: string): RuleMatcher => ({ kind: 'tool-name', name });
const category = (name: string): RuleMatcher => ({ kind: 'tool-category', category: name });
const prefix = (prefixes: readonly string[]): RuleMatcher => ({ kind: 'command-prefix', prefixes });

export const PermissionRule = {
  allowTool: (name: string, options?: RuleOptions) => make('allow', tool(name), options),
  denyTool: (name: string, options?: RuleOptions) => make('deny', tool(name), options),
  askForTool: (name: string, options?: RuleOptions) => make('ask-user', tool(name), options),
  allowCategory: (name: string, options?: RuleOptions) => make('allow', category(name), options),
  denyCategory: (name: string, options?: RuleOptions) => make('deny', category(name), options),
  askForCategory: (name: string, options?: RuleOptions) => make('ask-user', category(name), options),
  allowBashPrefix: (prefixes: readonly string[], options?: RuleOptions) => make('allow', prefix(prefixes), options),
  denyBashPrefix: (prefixes: readonly string[], options?: RuleOptions) => make('deny', prefix(prefixes), options),
  askForBashPrefix: (prefixes: readonly string[], options?: RuleOptions) => make('ask-user', prefix(prefixes), options),
  allowPath: (glob: string, options?: RuleOptions) => make('allow', { kind: 'path', glob }, options),
  denyPath: (glob: string, options?: RuleOptions) => make('deny', { kind: 'path', glob }, options),
  denyMatching: (pattern: string, options?: RuleOptions) => make('deny', { kind: 'regex', pattern }, options),
  all: (decision: RuleDecision, options?: RuleOptions) => make(decision, { kind: 'all' }, options),
};

function describeMatcher(matcher: RuleMatcher): string {
  switch (matcher.kind) {
    case 'tool-name':
      return `tool ${matcher.name}`;
    case 'tool-category':
      return `category ${matcher.category}`;
    case 'command-prefix':
      return `command ${matcher.prefixes.join(', ')}`;
    case 'path':
      return `path ${matcher.glob}`;
    case 'regex':
      return `input ${matcher.pattern}`;
    case 'custom':
      return 'custom';
    case 'all':
      return 'all';
  }
}

function describeScope(scope: RuleScope): string {
  switch (scope.kind) {
    case 'global':
      return '';
    case 'agent':
      return `for ${scope.agentType}`;
    case 'session':
      return `in session ${scope.sessionId}`;
    case 'user':
      return ['by the user', scope.sessionId, scope.agentType].filter(Boolean).join(' ');
  }
}

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
