import { RE2JS } from 're2js';
import { AgentError } from '../core/agent-error.ts';
import { canonicalJson, type Json } from '../core/json.ts';
import { matchesGlob } from './paths.ts';
import type { RuleDecision, RuleMatcher } from './rule.ts';
import { beginsWith, holds, type ShellCommand } from './shell-command.ts';

/** One call as rules see it. */
export interface CheckedCall {
  readonly toolName: string;
  readonly category: string | undefined;
  readonly input: Json;
  readonly command: ShellCommand | undefined;
  readonly paths: readonly string[];
}

/** `maybe`: the rule could apply to a part of the call that cannot be determined in advance. */
export type Match = 'yes' | 'maybe' | 'no';

/** A compiled matcher. `simple` is one of several commands if each is decided separately. */
export type CompiledMatcher = (call: CheckedCall, simple?: readonly string[]) => Match;

const yes = (matched: boolean): Match => (matched ? 'yes' : 'no');
const wordsOf = (prefix: string) => prefix.trim().split(/\s+/).filter(Boolean);

/** @throws AgentError `invalid_config` for a pattern that cannot be compiled */
export function compileMatcher(matcher: RuleMatcher, decision: RuleDecision): CompiledMatcher {
  switch (matcher.kind) {
    case 'all':
      return () => 'yes';
    case 'tool-name':
      return ({ toolName }) => yes(toolName === matcher.name);
    case 'tool-category':
      return ({ category }) => yes(category === matcher.category);
    case 'custom':
      return ({ toolName, input }) => yes(matcher.test(toolName, input));
    case 'regex': {
      const pattern = compilePattern(matcher.pattern);
      return ({ input }) => yes(pattern.matcher(canonicalJson(input)).find());
    }
    case 'path':
      // Allowed only if every file is; denied if any is.
      return decision === 'allow'
        ? ({ paths }) => yes(paths.length > 0 && paths.every((path) => matchesGlob(path, matcher.glob)))
        : ({ paths }) => yes(paths.some((path) => matchesGlob(path, matcher.glob)));
    case 'command-prefix': {
      const prefixes = matcher.prefixes.map(wordsOf);
      if (decision === 'allow')
        return (_call, simple) => yes(prefixes.some((prefix) => beginsWith(simple ?? [], prefix)));
      return (call) => heldPrefix(call, prefixes);
    }
  }
}

function heldPrefix({ command }: CheckedCall, prefixes: readonly (readonly string[])[]): Match {
  if (command === undefined) return 'no';
  const verdicts = prefixes.map((prefix) => holds(command, prefix));
  return verdicts.includes('yes') ? 'yes' : verdicts.includes('maybe') ? 'maybe' : 'no';
}

function compilePattern(pattern: string): RE2JS {
  try {
    return RE2JS.compile(pattern);
  } catch (error) {
    throw new AgentError('invalid_config', `the pattern ${JSON.stringify(pattern)} is not a valid RE2 pattern`, {
      cause: error,
    });
  }
}
