import type { DecisionRequest } from '@agentlens/contracts';
import { z } from 'zod';
import type { CallTest } from '../catalog/condition-module.ts';
import type { CallScope } from '../decisions/facts.ts';
import { selectsTool } from '../decisions/tool-index.ts';
import { foldedName, foldedNames } from '../patterns/names.ts';
import { WIDER_SCOPES } from '../ports/call-history.ts';

/** Whose calls a condition looks at; by default those of the run. Absent in rules that are older than the field. */
export const CallScopeField = z
  .enum(['run', ...WIDER_SCOPES])
  .optional()
  .meta({
    title: 'Looks at the calls of',
    description: 'The run (default), its whole tree, its session, the agent or the tenant.',
  });

/**
 * What a condition needs that looks at the calls of a scope. Only a run and an agent have calls of one agent.
 * @param reads returns true if the answer about this call depends on others; by default it always does
 */
export function callsOf(
  scope: CallScope,
  countsCall: NonNullable<CallTest['countsCall']>,
  reads: (request: DecisionRequest) => boolean = () => true,
): Pick<CallTest, 'countsCall' | 'countsEveryAgent' | 'needs'> {
  const history = scope === 'run' ? { history: true } : { histories: [scope] };
  const needs = (request: DecisionRequest) => (reads(request) ? history : {});
  return { countsCall, needs, countsEveryAgent: scope !== 'run' && scope !== 'agent' };
}

const names = z.array(z.string().min(1).max(256)).min(1, 'must name at least one').max(100);

export const toolChoiceFields = {
  tools: names.optional().meta({ title: 'Tools', description: 'Globs, ignoring case.' }),
  toolTagsAll: names.optional().meta({ title: 'With all of these tags' }),
  toolTagsAny: names.optional().meta({ title: 'With any of these tags' }),
};

/** Selects tools by glob, by tag, or both. Absent fields do not restrict. */
export const ToolChoice = z
  .strictObject(toolChoiceFields)
  .refine((choice) => Object.values(choice).some((list) => list !== undefined), {
    message: 'must name tools or tags',
  });
export type ToolChoice = z.infer<typeof ToolChoice>;

interface Called {
  readonly toolName: string;
  readonly toolTags: readonly string[];
}

export function foldedChoice({ tools, toolTagsAll, toolTagsAny }: ToolChoice): ToolChoice {
  return { tools: folded(tools), toolTagsAll: folded(toolTagsAll), toolTagsAny: folded(toolTagsAny) };
}

/** Returns true if a case-folded choice includes the tool. */
export function chooses(choice: ToolChoice, { toolName, toolTags }: Called): boolean {
  return selectsTool(choice, { name: foldedName(toolName), tags: foldedNames(toolTags) });
}

/** Returns true if one of these case-folded choices includes the tool of a call; a model call has none. */
export function choosesAny(choices: readonly ToolChoice[], tool: DecisionRequest['tool']): boolean {
  if (tool === undefined || choices.length === 0) return false;
  const called = { name: foldedName(tool.name), tags: foldedNames(tool.tags) };
  return choices.some((choice) => selectsTool(choice, called));
}

function folded(list: readonly string[] | undefined): string[] | undefined {
  return list?.map(foldedName);
}
