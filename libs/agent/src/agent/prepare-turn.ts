import type { ContentBlock } from '../core/message.ts';
import type { Effects } from '../effects/effects.ts';
import { providerPool } from '../llm/fallback.ts';
import type { LLMClient } from '../llm/llm-client.ts';
import type { ModelProvider, ProviderHealth } from '../llm/model-provider.ts';
import { filteredDatabase, filteredMemory, type MemoryGate } from '../memory/filtered-memory.ts';
import { DATABASE, MEMORY } from '../memory/memory-client.ts';
import type { PermissionManager } from '../permissions/permission-manager.ts';
import type { AgentInternals } from '../runtime/agent-internals.ts';
import { SafetyLayer } from '../safety/safety-layer.ts';
import type { Roles } from '../security/roles.ts';
import type { ActionResult } from '../tools/tool.ts';
import type { ToolRegistry } from '../tools/tool-registry.ts';
import type { AgentConfig, RunOptions } from './agent-config.ts';
import { modelPlanner, planReflector } from './planners.ts';
import type { RunRecord } from './run-record.ts';
import { Turn } from './turn.ts';

export const DEFAULT_MAX_STEPS = 10;
/** Marks that the session's first input was the task itself. */
export const TASK_IS_INPUT = 'task_is_input';

export interface RenderedTemplate {
  readonly id: string;
  readonly version: string;
  readonly hash: string;
}

export interface TurnInit {
  readonly config: AgentConfig;
  readonly tools: ToolRegistry;
  readonly permissions: PermissionManager;
  readonly providers: readonly ModelProvider[];
  readonly health: ProviderHealth;
  readonly roles: Roles | undefined;
  readonly internals: AgentInternals;
  readonly record: RunRecord;
  readonly canAsk: boolean;
  readonly run: RunOptions;
  readonly task: (rendered: (template: RenderedTemplate) => void) => Promise<string>;
}

export interface PreparedTurn {
  run(input: readonly ContentBlock[] | undefined): Promise<unknown>;
}

/** Assembles what one turn of an agent needs: its policy, memory, tools, model and task. */
export function prepareTurn(init: TurnInit): PreparedTurn {
  return {
    async run(input) {
      const { config, tools, permissions, internals, record, canAsk, run } = init;
      const {
        planner = modelPlanner(),
        reflector = planReflector,
        executor,
        output,
        memoryPolicy = {},
        rulesFile,
      } = config;
      const safety = new SafetyLayer(config.safety);
      const { task, system } = await taskOf(init);
      const { memory, database } = storesOf(init, safety);
      const pipeline = internals.tools(tools, permissions, {
        ...{ safety, canAsk, onActions: (actions: readonly ActionResult[]) => record.addActions(actions) },
        ...(rulesFile === undefined ? {} : { remember: (rules: PermissionManager) => rules.saveToFile(rulesFile) }),
      });
      const turn = new Turn({
        ...{
          internals,
          planner,
          reflector,
          executor,
          pipeline,
          safety,
          record,
          memory,
          database,
          memoryPolicy,
          output,
          task,
        },
        tools: tools.getDefinitions().filter(({ name }) => safety.allowsTool(name)),
        model: modelOf(init, safety),
        callOptions: { ...config.callOptions, ...(system === undefined ? {} : { system }) },
        maxSteps: run.maxSteps ?? config.maxSteps ?? DEFAULT_MAX_STEPS,
      });
      return turn.run(input);
    },
  };
}

/** The agent's task: the system prompt if there is also input. */
async function taskOf({
  internals,
  record,
  task: rendered,
}: TurnInit): Promise<{ readonly task: string; readonly system: string | undefined }> {
  const task = await rendered((template) => {
    record.template = template;
    const { id: templateId, version, hash } = template;
    internals.send({ type: 'prompt-rendered', templateId, version, hash });
  });
  return { task, system: internals.session.getMetadata(TASK_IS_INPUT) === true ? undefined : task };
}

function modelOf({ config, providers, health, internals, record }: TurnInit, safety: SafetyLayer): LLMClient | null {
  if (providers.length === 0) return null;
  const { selectProvider: select, retry, costCeilingUsd } = config;
  const pool = providerPool({
    ...{ providers, health },
    ...(select === undefined ? {} : { select }),
    ...(retry?.model === undefined ? {} : { retry: retry.model }),
    ...(costCeilingUsd === undefined ? {} : { costCeilingUsd }),
  });
  return internals.model(pool, { safety, onUse: record.addModelUse });
}

/** The agent's stores behind its policy and roles; tools find them in the context. */
function storesOf({ config, internals, record, roles }: TurnInit, safety: SafetyLayer) {
  const { memoryClient, databaseClient, memoryPolicy, role } = config;
  const effects: Effects = internals.effects;
  const gate: MemoryGate = {
    ...{ effects, safety, changed: record.addChange },
    emit: (event) => internals.send(event),
    ...(roles === undefined ? {} : { roles }),
    ...(role === undefined ? {} : { principal: role }),
    ...(memoryPolicy?.ttlMs === undefined ? {} : { ttlMs: memoryPolicy.ttlMs }),
  };
  const memory = memoryClient === undefined ? undefined : filteredMemory(memoryClient, gate);
  const database = databaseClient === undefined ? undefined : filteredDatabase(databaseClient, gate);
  if (memory !== undefined) internals.context.insertResource(MEMORY, memory);
  if (database !== undefined) internals.context.insertResource(DATABASE, database);
  return { memory, database };
}
