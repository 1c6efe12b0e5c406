import { type OutputSchema, validateOutput } from '@agentlens/sdk';
import { AgentError } from '../core/agent-error.ts';
import { type Json, toJson } from '../core/json.ts';
import { type ContentBlock, Message, textOf } from '../core/message.ts';
import type { CallOptions, LLMClient } from '../llm/llm-client.ts';
import type { DatabaseClient } from '../memory/database-client.ts';
import type { MemoryClient } from '../memory/memory-client.ts';
import type { AgentInternals } from '../runtime/agent-internals.ts';
import type { SafetyLayer, SafetyRecord } from '../safety/safety-layer.ts';
import type { SafetyPhase } from '../safety/safety-policy.ts';
import type { ActionResult, ToolCall, ToolDefinition } from '../tools/tool.ts';
import type { ToolPipeline } from '../tools/tool-pipeline.ts';
import type { MemoryPolicy } from './agent-config.ts';
import type { PlannedCall, Planner, PlannerState, PlanStep, Reflector, ToolExecutor } from './planner-state.ts';
import type { RunRecord } from './run-record.ts';

export interface TurnDependencies {
  readonly internals: AgentInternals;
  readonly planner: Planner;
  readonly reflector: Reflector;
  readonly executor: ToolExecutor | undefined;
  readonly pipeline: ToolPipeline;
  readonly safety: SafetyLayer;
  readonly record: RunRecord;
  readonly tools: readonly ToolDefinition[];
  readonly model: LLMClient | null;
  readonly callOptions: CallOptions;
  readonly memory: MemoryClient | undefined;
  readonly database: DatabaseClient | undefined;
  readonly memoryPolicy: MemoryPolicy;
  readonly output: OutputSchema<unknown> | undefined;
  readonly task: string;
  readonly maxSteps: number;
}

/** How often an answer that does not match the schema is requested again. */
const MAX_CORRECTIONS = 2;

/**
 * One turn of a session: plans, acts and reflects until the goal is reached, the steps are used up or it is stopped.
 */
export class Turn {
  readonly #deps: TurnDependencies;
  readonly #scratchpad: string[] = [];
  #lastActions: readonly ActionResult[] = [];
  #corrections = 0;

  constructor(dependencies: TurnDependencies) {
    this.#deps = dependencies;
  }

  /** Returns the result. `input` is absent for a turn interrupted by a crash. @throws AgentError that ended it */
  async run(input: readonly ContentBlock[] | undefined): Promise<unknown> {
    const { internals, pipeline, record, maxSteps } = this.#deps;
    const settled = await pipeline.settleOpenCalls();
    if (settled.length > 0) await this.#rememberLast();
    if (input !== undefined) await this.#addMessage(Message.user(input));
    else {
      const last = internals.session.getHistory().at(-1);
      // Interrupted before anything was stored, or after everything was.
      if (last === undefined) await this.#addMessage(Message.user(this.#deps.task));
      else if (last.role === 'assistant') return (await this.#finish(textOf(last.content)))?.result;
    }
    for (let step = 1; ; step++) {
      internals.turnSignal.throwIfAborted();
      if (step > maxSteps) throw new AgentError('limit_reached', 'the run has reached its limit of steps');
      record.steps = step;
      internals.send({ type: 'step-start', step });
      await this.#takeSteering();
      const outcome = await this.#step(step);
      internals.send({ type: 'step-end', step });
      if (outcome !== null) return outcome.result;
    }
  }

  /** Null: continue. */
  async #step(step: number): Promise<{ readonly result: unknown } | null> {
    const { internals, planner, reflector } = this.#deps;
    const state = this.#state(step);
    const plan = await planner.plan(state);
    internals.send({ type: 'plan', step, plan: toJson(planShown(plan)) });
    const actions = await this.#act(plan, step);
    this.#lastActions = actions;
    const reflection = await reflector.reflect(this.#state(step), { plan, actions });
    const { next, note } = reflection;
    internals.send({ type: 'reflect', step, next, ...(note === undefined ? {} : { note }) });
    if (note !== undefined) await this.#note(note);
    if (next === 'abort') throw new AgentError('aborted', note ?? 'the reflector ended the run');
    if (next === 'plan') return null;
    return this.#finish(reflection.result);
  }

  async #act(plan: PlanStep, step: number): Promise<readonly ActionResult[]> {
    switch (plan.type) {
      case 'internal':
        if (plan.assistant !== undefined) await this.#addMessage(plan.assistant);
        await this.#note(plan.message);
        return [];
      case 'message':
        await this.#inspect(plan.message, 'plan');
        await this.#addMessage(plan.assistant ?? Message.assistant(plan.message));
        return [];
      case 'finish':
        if (plan.assistant !== undefined) await this.#addMessage(plan.assistant);
        else if (plan.message !== undefined) await this.#addMessage(Message.assistant(plan.message));
        return [];
      case 'tool':
        return this.#callTools(plan, step);
    }
  }

  async #callTools(plan: Extract<PlanStep, { type: 'tool' }>, step: number): Promise<readonly ActionResult[]> {
    const { internals, safety } = this.#deps;
    const calls = callsOf(plan).map((call): ToolCall => {
      const { toolUseId, toolId: name, input, malformed } = call;
      const id = toolUseId ?? internals.effects.newId();
      return { id, name, input, ...(malformed === undefined ? {} : { malformed }) };
    });
    if (calls.length === 0) throw new AgentError('invalid_config', 'the planner planned a tool step without a call');
    await this.#inspect(
      calls.map(({ name, input }) => ({ name, input })),
      'plan',
    );
    for (const { name, id } of calls)
      if (!safety.allowsTool(name))
        internals.send({ type: 'safety', phase: 'plan', rule: 'tool-lists', action: 'block', inputHash: id });
    const message = plan.assistant ?? Message.assistant(calls.map((call) => ({ type: 'tool_use', ...call })));
    await this.#addMessage(message);
    const actions = await this.#execute(calls, step);
    await this.#rememberLast();
    return actions;
  }

  async #execute(calls: readonly ToolCall[], step: number): Promise<readonly ActionResult[]> {
    const { internals, pipeline, executor } = this.#deps;
    if (executor === undefined) return pipeline.executeAll(calls);
    const { session, context, effects, turnSignal: signal, run } = internals;
    const actions: ActionResult[] = [];
    for (const call of calls) {
      const action = await executor.execute(call, {
        sessionId: session.sessionId,
        runId: run?.id ?? '',
        step,
        context,
        effects,
        signal,
      });
      actions.push(action);
    }
    this.#deps.record.addActions(actions);
    session.addMessage(
      Message.user(
        actions.map(({ toolUseId, toolId: name, output: content, isError }) => ({
          type: 'tool_result',
          toolUseId,
          name,
          content,
          isError,
        })),
      ),
    );
    return actions;
  }

  /** The results, which are now in the history. */
  async #rememberLast(): Promise<void> {
    const last = this.#deps.internals.session.getHistory().at(-1);
    if (last !== undefined) await this.#remember(last);
  }

  async #finish(result: Json | undefined): Promise<{ readonly result: unknown } | null> {
    const { output } = this.#deps;
    if (output === undefined) {
      const inspected = result === undefined ? undefined : await this.#inspect(result, 'result');
      return { result: inspected };
    }
    const text = typeof result === 'string' ? result : JSON.stringify(result ?? null);
    const validated = await validateOutput(text, output);
    if (validated.ok) {
      await this.#inspect(toJson(validated.value), 'result');
      return { result: validated.value };
    }
    this.#corrections += 1;
    if (this.#corrections > MAX_CORRECTIONS) {
      const issues = validated.error.issues.map((issue) => ({ ...issue }));
      throw new AgentError('output_invalid', 'the answer does not match the schema', { info: issues });
    }
    await this.#addMessage(Message.user(validated.error.toPrompt()));
    return null;
  }

  /** @throws AgentError `blocked_by_safety` */
  async #inspect<T extends Json>(value: T, phase: SafetyPhase): Promise<T> {
    const { internals, safety } = this.#deps;
    const record = ({ phase: at, rule, action, inputHash }: SafetyRecord) => {
      internals.send({ type: 'safety', phase: at, rule, action, inputHash });
    };
    const inspected = await safety.inspect(value, { phase }, record);
    if (!inspected.ok) throw new AgentError('blocked_by_safety', inspected.reason);
    return inspected.value;
  }

  async #takeSteering(): Promise<void> {
    for (
      let message = this.#deps.internals.steering();
      message !== undefined;
      message = this.#deps.internals.steering()
    )
      if (message.type === 'user-input') await this.#addMessage(Message.user(message.content));
  }

  async #addMessage(message: Message): Promise<void> {
    this.#deps.internals.session.addMessage(message);
    await this.#remember(message);
  }

  async #remember(message: Message): Promise<void> {
    const { memory, memoryPolicy, internals } = this.#deps;
    if (memory === undefined || memoryPolicy.conversation !== true) return;
    await memory.append(`conversation:${internals.session.sessionId}`, toJson(message));
  }

  async #note(text: string): Promise<void> {
    this.#scratchpad.push(text);
    const { memory, memoryPolicy, internals } = this.#deps;
    if (memory !== undefined && memoryPolicy.scratchpad === true)
      await memory.append(`scratchpad:${internals.session.sessionId}`, text);
  }

  #state(step: number): PlannerState {
    const { internals, task, tools, model, callOptions, memory, database } = this.#deps;
    return {
      ...{ task, step, tools, model, callOptions, effects: internals.effects, signal: internals.turnSignal },
      messages: internals.session.getHistory(),
      lastActions: this.#lastActions,
      scratchpad: this.#scratchpad,
      ...(memory === undefined ? {} : { memory }),
      ...(database === undefined ? {} : { database }),
    };
  }
}

function callsOf({ calls, toolId, input }: Extract<PlanStep, { type: 'tool' }>): readonly PlannedCall[] {
  if (calls !== undefined) return calls;
  return toolId === undefined ? [] : [{ toolId, input: input ?? {} }];
}

/** Without the conversation and inputs; the calls' own events have the inputs. */
function planShown(plan: PlanStep) {
  if (plan.type !== 'tool') return { type: plan.type };
  const { reason } = plan;
  return {
    type: 'tool',
    tools: callsOf(plan).map(({ toolId }) => toolId),
    ...(reason === undefined ? {} : { reason }),
  };
}
