import { foldedName } from '@agentlens/guardrails/names';
import { ToolIndex } from '@agentlens/guardrails/tool-index';
import type { BundledRule, CompiledRules, LocalCall, LocalJudgement, LocalRules } from './local-rules.ts';

const MAX_CACHED_SHAPES = 1_000;

/** The parts of a call that determine which rules apply. */
export type CallShape = Pick<LocalCall, 'phase' | 'toolName' | 'toolTags'>;

/**
 * Finds the rules that apply to a call and caches them per tool: a process calls few different tools, however many
 * rules there are.
 */
export function applicableIndex<R extends BundledRule>(rules: readonly R[]): (call: CallShape) => readonly R[] {
  const indexes = new Map<string, ToolIndex<{ rule: R; selects: ReturnType<typeof selectsOf> }>>();
  const remembered = new Map<string, readonly R[]>();
  const indexOf = (phase: LocalCall['phase']) => {
    const known = indexes.get(phase);
    if (known !== undefined) return known;
    const asked = rules.filter(({ phases }) => phases.includes(phase));
    const made = new ToolIndex(asked.map((rule) => ({ rule, selects: selectsOf(rule) })));
    indexes.set(phase, made);
    return made;
  };
  return (call) => {
    const key = call.toolTags.length === 0 ? `${call.phase} ${call.toolName}` : keyWithTags(call);
    const known = remembered.get(key);
    if (known !== undefined) return known;
    const name = call.toolName === '' ? undefined : foldedName(call.toolName);
    const tool = { ...(name === undefined ? {} : { name }), tags: call.toolTags.map(foldedName) };
    const found = indexOf(call.phase)
      .selecting(tool)
      .map(({ rule }) => rule);
    if (remembered.size >= MAX_CACHED_SHAPES) remembered.clear();
    remembered.set(key, found);
    return found;
  };
}

/** Needs no condition code: asks the server about each call that a rule applies to, and skips all others. */
export const selectorRules: LocalRules = {
  compile(rules: readonly BundledRule[]): CompiledRules {
    const applicable = applicableIndex(rules);
    return { judge: (call) => judgementOf(applicable(call)) };
  },
};

const NOTHING: LocalJudgement = { refusal: null, ask: false, blocksWhenUnavailable: null, evaluated: [] };

function judgementOf(rules: readonly BundledRule[]): LocalJudgement {
  return rules.length === 0 ? NOTHING : { ...NOTHING, ask: true, blocksWhenUnavailable: blockerOf(rules) };
}

/** The first rule that blocks when it cannot be evaluated. */
export function blockerOf(rules: readonly BundledRule[]): string | null {
  return rules.find((rule) => rule.onUnavailable === 'block' && rule.mode === 'enforce')?.id ?? null;
}

function selectsOf({ selector = {} }: BundledRule) {
  return {
    ...(selector.tools === undefined ? {} : { tools: selector.tools.map(foldedName) }),
    ...(selector.toolTagsAll === undefined ? {} : { toolTagsAll: selector.toolTagsAll.map(foldedName) }),
    ...(selector.toolTagsAny === undefined ? {} : { toolTagsAny: selector.toolTagsAny.map(foldedName) }),
  };
}

function keyWithTags(call: CallShape): string {
  return `${call.phase} ${call.toolName}\n${call.toolTags.join('\n')}`;
}
