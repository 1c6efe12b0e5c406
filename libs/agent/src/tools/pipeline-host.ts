import type { AgentContext } from '../core/agent-context.ts';
import type { DriverEvent } from '../core/agent-event.ts';
import type { StateEvent } from '../core/agent-state.ts';
import type { OutputChunk, PermissionAnswer } from '../core/input-output.ts';
import type { Json } from '../core/json.ts';
import type { ToolInfo } from '../core/message.ts';
import type { Effects } from '../effects/effects.ts';
import type { PermissionManager } from '../permissions/permission-manager.ts';
import type { GuardedRun } from '../platform/run-guard.ts';
import type { Inspected, SafetyLayer } from '../safety/safety-layer.ts';
import type { SafetyPhase } from '../safety/safety-policy.ts';
import type { AgentSession } from '../session/agent-session.ts';
import type { ActionResult, ToolCall } from './tool.ts';
import type { ToolRegistry } from './tool-registry.ts';

/** What the pipeline needs from its session. */
export interface PipelineHost {
  readonly session: AgentSession;
  readonly context: AgentContext;
  readonly effects: Effects;
  readonly run: GuardedRun;
  readonly turnSignal: AbortSignal;
  emit(event: OutputChunk | DriverEvent): void;
  move(event: StateEvent): void;
  ask(call: ToolCall, info: ToolInfo): Promise<PermissionAnswer>;
}

export interface PipelineOptions {
  readonly registry: ToolRegistry;
  readonly permissions: PermissionManager;
  readonly safety: SafetyLayer;
  /** False: calls that need permission are denied at once. Default true. */
  readonly canAsk?: boolean;
  /** Called with the results of each step, in call order, even if the run ends with them. */
  readonly onActions?: (actions: readonly ActionResult[]) => void;
  /** Stores "always" answers. */
  readonly remember?: (permissions: PermissionManager) => Promise<void>;
}

/** Aborted with the turn, and with the run on the platform. */
export function callSignal({ turnSignal, run }: PipelineHost): AbortSignal {
  return AbortSignal.any([turnSignal, run.signal]);
}

/** Applies the safety policy to a tool's input or output. */
export function inspectText(
  host: PipelineHost,
  safety: SafetyLayer,
  value: Json,
  phase: SafetyPhase,
  toolName: string,
): Promise<Inspected<Json>> {
  return safety.inspect(value, { phase, tool: toolName }, ({ rule, action, inputHash }) =>
    host.emit({ type: 'safety', phase, rule, action, inputHash, toolName }),
  );
}
