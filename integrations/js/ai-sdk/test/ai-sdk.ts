import { type AiVersion, ScriptedAiModels } from '../../conformance/fixtures/scripted-ai-model.ts';
import { conform } from '../../conformance/src/conform.ts';
import type { AgentSpec, Driver, NestedSpec, Outcome, ToolSpec } from '../../conformance/src/driver.ts';

/** The exports of `ai` that the driver calls, alike in all three majors. */
interface Ai {
  generateText(settings: object): Promise<{ text: string }>;
  streamText(settings: object): { fullStream: AsyncIterable<Part> };
  jsonSchema(schema: object): unknown;
  readonly [agentClass: string]: unknown;
}

interface Part {
  readonly type: string;
  readonly text?: string;
  readonly error?: unknown;
}

interface Agent {
  generate(options: object): Promise<{ text: string }>;
  stream(options: object): Promise<{ fullStream: AsyncIterable<Part> }>;
}
type AgentClass = new (settings: object) => Agent;

export interface AiMajor {
  readonly major: 5 | 6 | 7;
  readonly version: string;
  readonly ai: object;
  readonly guard: Driver['guard'];
  readonly Mock: unknown;
  readonly model: AiVersion;
  readonly agentClass: 'ToolLoopAgent' | 'Experimental_Agent';
  readonly marks: readonly string[];
}

const OBJECT = { type: 'object', properties: {}, additionalProperties: true };
const fiveSteps = ({ steps }: { steps: readonly unknown[] }) => steps.length >= 5;

function toolSet(ai: Ai, specs: readonly ToolSpec[]): Record<string, unknown> {
  const tools = specs.map(({ name, parts, execute }) => {
    const common = { description: name, inputSchema: ai.jsonSchema(OBJECT) };
    if (parts !== undefined)
      return [
        name,
        {
          ...common,
          execute: async function* (args: Record<string, unknown>) {
            yield* parts(args);
          },
        },
      ];
    const run = async (args: Record<string, unknown>, { abortSignal }: { abortSignal?: AbortSignal }) =>
      execute?.(args, abortSignal);
    return [name, { ...common, execute: run }];
  });
  return Object.fromEntries(tools);
}

/** Version 5 rejects calls of tools that were not registered. */
function providerTools(ai: Ai, { turns }: AgentSpec): Record<string, unknown> {
  const uses = turns.flatMap((turn) => (turn instanceof Error ? [] : turn)).filter((part) => typeof part !== 'string');
  const names = uses.filter(({ providerResult }) => providerResult !== undefined).map(({ tool }) => tool);
  const shape = { type: 'provider-defined', args: {}, inputSchema: ai.jsonSchema(OBJECT) };
  return Object.fromEntries(names.map((name) => [name, { ...shape, id: `test.${name}`, name }]));
}

async function read(stream: AsyncIterable<Part>): Promise<{ text: string; error: unknown }> {
  let text = '';
  let error: unknown;
  for await (const part of stream) {
    if (part.type === 'start-step') text = '';
    if (part.type === 'text-delta') text += part.text ?? '';
    if (part.type === 'error') error = part.error;
  }
  return { text, error };
}

async function outcome(
  requests: readonly string[],
  run: () => Promise<{ text: string; error?: unknown }>,
): Promise<Outcome> {
  try {
    const { text, error } = await run();
    return { text, error, requests };
  } catch (error) {
    return { text: '', error, requests };
  }
}

function settingsOf(
  ai: Ai,
  { Mock, model, major, agentClass }: AiMajor,
  agent: AgentSpec,
  tools = toolSet(ai, agent.tools),
) {
  const models = new ScriptedAiModels(Mock, model, agent.turns);
  const { ownHooks } = agent;
  const settings = {
    model: models.model(),
    tools: { ...tools, ...(major === 5 ? providerTools(ai, agent) : {}) },
    maxRetries: 0,
    stopWhen: fiveSteps,
    onError: () => undefined,
    ...(ownHooks === undefined ? {} : { onStepFinish: () => ownHooks.push('onStepFinish') }),
    ...(agent.swapModel
      ? {
          prepareStep: ({ stepNumber }: { stepNumber: number }) =>
            stepNumber > 0 ? { model: models.model('other') } : {},
        }
      : {}),
  };
  return { settings, requests: models.script.requests, agentClass };
}

function driverOf(major: AiMajor): Driver {
  const driver: Driver = {
    name: `ai ${major.major}`,
    package: `@agentlens/ai-sdk/v${major.major}`,
    version: major.version,
    framework: major.ai,
    marks: major.marks,
    guard: major.guard,
    run(framework, agent) {
      const ai = framework as Ai;
      const { settings, requests } = settingsOf(ai, major, agent);
      const call = { ...settings, prompt: agent.prompt ?? 'Go on', abortSignal: agent.signal };
      return outcome(requests, () => (agent.stream ? read(ai.streamText(call).fullStream) : ai.generateText(call)));
    },
    nested: (framework, agents) => nested(framework as Ai, major, agents),
    cannot: {
      'guards an agent after a hand-off': 'the framework has no hand-offs',
    },
  };
  return driver;
}

function nested(framework: Ai, major: AiMajor, { outer, inner }: NestedSpec): Promise<Outcome> {
  const ofInner = settingsOf(framework, major, inner);
  const Agent = framework[major.agentClass] as AgentClass;
  const helper = new Agent(ofInner.settings);
  const helperTool: ToolSpec = {
    name: 'helper',
    execute: async ({ input }, abortSignal) => (await helper.generate({ prompt: input, abortSignal })).text,
  };
  const { settings, requests } = settingsOf(framework, major, { ...outer, tools: [helperTool] });
  return outcome(requests, () => new Agent(settings).generate({ prompt: 'Go on' }));
}

/** The same agent, made of the framework's class instead of its functions. */
function agentDriverOf(major: AiMajor): Driver {
  return {
    ...driverOf(major),
    variant: major.agentClass,
    run(framework, agent) {
      const ai = framework as Ai;
      const { settings, requests } = settingsOf(ai, major, agent);
      const instance = new (ai[major.agentClass] as AgentClass)(settings);
      const call = { prompt: agent.prompt ?? 'Go on', abortSignal: agent.signal };
      return outcome(requests, async () =>
        agent.stream ? read((await instance.stream(call)).fullStream) : instance.generate(call),
      );
    },
  };
}

export function conformAi(major: AiMajor): void {
  conform(driverOf(major));
  conform(agentDriverOf(major));
}
