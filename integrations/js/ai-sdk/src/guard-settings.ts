import type { Guard, RunScope } from '@agentlens/sdk/adapter';
import { guardApproval } from './guard-approval.ts';
import { guardModel } from './guard-model.ts';
import { guardTools } from './guard-tools.ts';
import type { AiModule, AiSettings, Dialect } from './shapes.ts';

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
