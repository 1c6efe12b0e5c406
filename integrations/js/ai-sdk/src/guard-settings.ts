import { type Guard, type RunScope, refusalText } from '@agentlens/sdk/adapter';
import { guardModel } from './guard-model.ts';
import { guardTools } from './guard-tools.ts';
import type {
  AiModule,
  AiSettings,
  Approval,
  ApprovalContext,
  ApproveCall,
  ApproveTool,
  Dialect,
  Tool,
} from './shapes.ts';

export interface SettingsGuard {
  readonly guard: Guard;
  readonly ai: AiModule;
  readonly dialect: Dialect;
}

export interface LoopScope {
  readonly scoped: () => Promise<RunScope>;
  /** Why the loop must not go on, as far as it is known. */
  readonly stopped: () => boolean;
  readonly signal: AbortSignal;
}

/** A call's or an agent's settings, with everything in them guarded that runs. */
export function guardSettings(
  { ai, dialect }: SettingsGuard,
  settings: AiSettings,
  loop: LoopScope,
  steps: number,
): AiSettings {
  const { scoped } = loop;
  const model = (given: unknown) => guardModel(ai, dialect, given, scoped);
  const stops = settings.stopWhen ?? (({ steps: done }) => done.length >= steps);
  const guarded = {
    ...settings,
    ...(settings.model === undefined ? {} : { model: model(settings.model) }),
    ...(settings.tools === undefined ? {} : { tools: guardTools(settings.tools, scoped) }),
    stopWhen: [...(Array.isArray(stops) ? stops : [stops]), () => loop.stopped()],
    prepareStep: async (options: unknown) => {
      const prepared = (await settings.prepareStep?.(options)) as { model?: unknown } | undefined;
      return prepared?.model === undefined ? prepared : { ...prepared, model: model(prepared.model) };
    },
  };
  return dialect.major === 7 ? guardApproval(guarded, scoped) : guarded;
}

/** Settings without a loop: of calls that make an object. */
export function guardModelOnly({ ai, dialect }: SettingsGuard, settings: AiSettings, loop: LoopScope): AiSettings {
  return { ...settings, model: guardModel(ai, dialect, settings.model, loop.scoped) };
}

type Scoped = () => Promise<RunScope>;

/**
 * Version 7 asks before a tool that runs elsewhere, such as in a browser: there is no `execute` to wrap. The user's own
 * answer comes first; what it denies or hands to a human stays so.
 */
function guardApproval(settings: AiSettings, scoped: Scoped): AiSettings {
  const { toolApproval: own, tools = {} } = settings;
  const elsewhere = new Map(Object.entries(tools).filter(([, tool]) => !tool.execute && tool.type !== 'provider'));
  if (elsewhere.size === 0) return settings;
  if (typeof own === 'function') return { ...settings, toolApproval: forAll(own, elsewhere, scoped) };
  const each = [...elsewhere].map(([name, tool]) => [name, forOne(name, own?.[name] ?? tool.needsApproval, scoped)]);
  return { ...settings, toolApproval: { ...own, ...Object.fromEntries(each) } };
}

function forAll(own: ApproveCall, elsewhere: ReadonlyMap<string, Tool>, scoped: Scoped): ApproveCall {
  return async (request) => {
    const { toolCallId, toolName, input } = request.toolCall;
    const answer = await own(request);
    if (!elsewhere.has(toolName) || !passes(answer)) return answer;
    return (await refused(await scoped(), toolCallId, toolName, input)) ?? answer;
  };
}

function forOne(name: string, own: Approval | boolean | ApproveTool, scoped: Scoped): ApproveTool {
  return async (input, context) => {
    const given = typeof own === 'function' ? await own(input, context) : own;
    const answer = typeof given === 'boolean' ? (given ? 'user-approval' : undefined) : given;
    if (!passes(answer)) return answer;
    return (await refused(await scoped(), context.toolCallId, name, input)) ?? answer;
  };
}

async function refused(scope: RunScope, id: ApprovalContext['toolCallId'], name: string, args: unknown) {
  const decision = await scope.tools.before({ id, name, args });
  if (decision.verdict === 'BLOCK') return { type: 'denied', reason: refusalText(decision) };
  // Its result comes with a later request, if at all.
  scope.tools.leave(decision.callId);
  return undefined;
}

function passes(answer: Approval): boolean {
  const type = typeof answer === 'object' ? answer.type : answer;
  return type === undefined || type === 'approved' || type === 'not-applicable';
}
