/**
 * What the public Python plugins send to `POST /api/events`, event by event: the shapes of their hooks, with every
 * peculiarity that a gateway has to accept (offsets with microseconds, "warning", missing and flat fields, empty call
 * ids, event-level tags).
 */
export interface PluginEvent {
  readonly hook: string;
  readonly event: Readonly<Record<string, unknown>>;
}

let microseconds = 0;
/** Python's `datetime.now(timezone.utc).isoformat()`. */
function pythonNow(): string {
  microseconds += 1_234;
  return `2026-03-01T11:59:58.${String(microseconds).padStart(6, '0')}+00:00`;
}

interface Origin {
  readonly source: string;
  readonly agentId: string;
  readonly sessionId: string;
}

function sent(
  { source, agentId, sessionId }: Origin,
  hook: string,
  eventType: string,
  payload: Record<string, unknown>,
  more: Record<string, unknown> = {},
): PluginEvent {
  const metadata = { source, framework: source, framework_component: hook };
  const event = { sessionId, agentId, eventType, severity: 'info', payload, metadata, timestamp: pythonNow(), ...more };
  return { hook: `${source} ${hook}`, event };
}

function custom(
  origin: Origin,
  hook: string,
  type: string,
  data: object,
  more: Record<string, unknown> = {},
): PluginEvent {
  return sent(origin, hook, 'custom', { type, data }, more);
}

const crew = { source: 'crewai', agentId: 'research-crew', sessionId: '0b9be0a0-8f1a-4d3c-9a39-5b6a3e0f8a11' };
const researcher = { ...crew, agentId: 'research-crew/Senior Researcher' };

const CREWAI: readonly PluginEvent[] = [
  sent(
    crew,
    'on_crew_start',
    'session_started',
    { crew_name: 'research-crew', agent_count: 2, task_count: 3 },
    {
      tags: ['crewai:research-crew'],
    },
  ),
  custom(researcher, 'on_agent_start', 'agent_start', { role: 'Senior Researcher', goal: 'Find papers' }),
  custom(researcher, 'on_task_start', 'task_start', {
    description: 'Find papers on agents',
    expected_output: 'A list',
  }),
  sent(researcher, 'on_tool_use', 'tool_call', {
    toolName: 'web_search',
    callId: '9b6f3c0e-7a52-4a55-9d0a-0f2a8f9c1c01',
    arguments: { agent: 'Senior Researcher', input: 'agents 2026' },
  }),
  sent(researcher, 'on_tool_result', 'tool_response', {
    callId: '9b6f3c0e-7a52-4a55-9d0a-0f2a8f9c1c01',
    toolName: 'web_search',
    result: '["a", "b"]',
    durationMs: 812.44,
  }),
  custom(researcher, 'step_callback', 'crew_step', { step_type: 'AgentAction', output: 'searching' }),
  custom(researcher, 'on_task_delegation', 'task_delegation', { from_agent: 'Senior Researcher', to_agent: 'Writer' }),
  custom(researcher, 'on_task_end', 'task_end', { output: 'two papers', duration_ms: 1800.01 }),
  custom(researcher, 'on_agent_end', 'agent_end', { role: 'Senior Researcher', output: 'done' }),
  sent(crew, 'on_crew_end', 'session_ended', { summary: 'Two papers found', duration_ms: 2000.5 }),
];

const chat = { source: 'autogen', agentId: 'assistant', sessionId: '4f1b7d9e-3f7a-4b53-8a35-65d1f0a2c322' };
const proxy = { ...chat, agentId: 'user_proxy' };
const LLM_CALL = 'd0a2f1de-6a31-4f7e-9e0f-0a9d6f0e4a10';

const AUTOGEN: readonly PluginEvent[] = [
  sent(
    proxy,
    'on_conversation_start',
    'session_started',
    {
      initiator: 'user_proxy',
      participant_count: 2,
      participants: ['user_proxy', 'assistant'],
    },
    { tags: ['autogen:conversation'] },
  ),
  custom(proxy, 'on_message_sent', 'agent_message', {
    sender: 'user_proxy',
    receiver: 'assistant',
    content_preview: 'Plot a chart',
    message_type: 'str',
  }),
  custom(chat, 'on_message_received', 'message_received', {
    sender: 'user_proxy',
    receiver: 'assistant',
    content_preview: 'Plot a chart',
  }),
  sent(chat, 'on_llm_call', 'llm_call', {
    callId: LLM_CALL,
    model: 'gpt-4o',
    messages: [{ role: 'unknown', content: 'Plot a chart' }],
  }),
  sent(chat, 'on_llm_call without messages', 'llm_call', { callId: LLM_CALL, model: 'unknown', messages: [] }),
  sent(chat, 'on_llm_response', 'llm_response', {
    callId: LLM_CALL,
    model: 'gpt-4o',
    completion: 'import matplotlib',
    durationMs: 950.12,
    inputTokens: 1000,
    outputTokens: 500,
  }),
  sent(chat, 'on_llm_response with defaults', 'llm_response', {
    callId: '',
    model: 'unknown',
    completion: '',
    durationMs: 0,
    inputTokens: 0,
    outputTokens: 0,
  }),
  sent(chat, 'on_tool_call', 'tool_call', {
    toolName: 'plot',
    callId: '37e64ac2-0f1a-4c61-bd5a-6ab1d63cf501',
    arguments: { agent: 'assistant' },
  }),
  sent(chat, 'on_tool_result without id', 'tool_response', {
    callId: '',
    toolName: 'plot',
    result: 'None',
    durationMs: 0,
  }),
  custom(chat, 'on_code_execution', 'code_execution', {
    call_id: 'x',
    agent: 'assistant',
    language: 'python',
    code: 'print(1)',
  }),
  custom(
    chat,
    'on_code_result',
    'code_result',
    { call_id: 'x', agent: 'assistant', result: 'Traceback', exit_code: 1 },
    {
      severity: 'warning',
    },
  ),
  sent(chat, 'on_conversation_end', 'session_ended', { summary: '' }),
];

const kernel = { source: 'semantic_kernel', agentId: 'kernel', sessionId: 'c3c7f0d2-6f0a-4c0e-8f11-1f5f1f0b7d33' };

const SEMANTIC_KERNEL: readonly PluginEvent[] = [
  sent(kernel, 'filter before', 'tool_call', { toolName: 'time.now', callId: 'k1', arguments: { zone: 'UTC' } }),
  sent(kernel, 'filter after', 'tool_response', {
    callId: 'k1',
    toolName: 'time.now',
    result: '12:00',
    durationMs: 3.2,
  }),
  sent(kernel, 'filter before', 'tool_call', { toolName: 'mail.send', callId: 'k2', arguments: {} }),
  sent(
    kernel,
    'filter exception',
    'tool_error',
    {
      callId: 'k2',
      toolName: 'mail.send',
      error: 'SMTPServerDisconnected',
      durationMs: 30.75,
    },
    { severity: 'error' },
  ),
  sent(kernel, 'on_ai_call', 'llm_call', {
    callId: 'k3',
    model: 'gpt-4o',
    service_id: 'chat',
    messages: [{ role: 'user', content: 'Plan my day' }],
  }),
  sent(kernel, 'on_ai_response', 'llm_response', {
    callId: 'k3',
    model: 'gpt-4o',
    service_id: 'chat',
    completion: 'First, ...',
    durationMs: 1200.5,
    inputTokens: 200,
    outputTokens: 100,
  }),
  custom(kernel, 'on_planner_step', 'planner_step', { step_type: 'PlanStep', step_info: 'call time.now' }),
];

const chain = { source: 'langchain', agentId: 'LangGraph', sessionId: '6a5e0a8f-4f6d-4cb4-b8c6-2ac6d2f05e44' };
const RUN = '0f6b1f1e-6f64-4f55-a7a8-9d27a6c92b55';

const LANGCHAIN: readonly PluginEvent[] = [
  custom(chain, 'on_chain_start', 'chain_start', { chain_name: 'LangGraph', run_id: RUN, inputs: { q: 'hi' } }),
  sent(chain, 'on_llm_end', 'llm_call', {
    callId: RUN,
    provider: 'openai',
    model: 'gpt-4o',
    messages: [{ role: 'user', content: 'hi' }],
  }),
  sent(chain, 'on_llm_end', 'llm_response', {
    callId: RUN,
    provider: 'openai',
    model: 'gpt-4o',
    completion: 'hello',
    finishReason: 'stop',
    usage: { inputTokens: 1000, outputTokens: 500, totalTokens: 1500 },
    costUsd: 0,
    latencyMs: 420.5,
  }),
  sent(chain, 'on_tool_start', 'tool_call', { toolName: 'search', callId: RUN, arguments: { input: 'x' } }),
  sent(chain, 'on_tool_end', 'tool_response', { callId: RUN, toolName: 'unknown', result: 'y', durationMs: 5.5 }),
  sent(
    chain,
    'on_tool_error',
    'tool_error',
    { callId: RUN, toolName: 'unknown', error: 'boom', durationMs: 5.5 },
    {
      severity: 'error',
    },
  ),
  custom(chain, 'on_agent_action', 'agent_action', { tool: 'search', tool_input: 'x', log: '' }),
  custom(chain, 'on_agent_finish', 'agent_finish', { return_values: { output: 'y' } }),
  custom(chain, 'on_retriever_start', 'retriever_start', { query: 'x' }),
  custom(chain, 'on_retriever_end', 'retriever_end', { document_count: 3 }),
  custom(chain, 'on_chain_error', 'chain_error', { error: 'boom', run_id: RUN }, { severity: 'error' }),
  custom(chain, 'on_chain_end', 'chain_end', { outputs: {}, run_id: RUN, duration_ms: 900.1 }),
];

export const PLUGIN_TRAFFIC = { CREWAI, AUTOGEN, SEMANTIC_KERNEL, LANGCHAIN };

const script = { sessionId: 'sess-1', agentId: 'script' };

/** `client.log_llm_call`: a pair in one request. */
export const LOG_LLM_CALL: readonly Readonly<Record<string, unknown>>[] = [
  {
    ...script,
    eventType: 'llm_call',
    severity: 'info',
    payload: {
      callId: 'c-1',
      provider: 'anthropic',
      model: 'claude-sonnet-4-5',
      messages: [{ role: 'user', content: 'Hi' }],
      systemPrompt: null,
      parameters: null,
    },
    metadata: {},
    timestamp: pythonNow(),
  },
  {
    ...script,
    eventType: 'llm_response',
    severity: 'info',
    payload: {
      callId: 'c-1',
      provider: 'anthropic',
      model: 'claude-sonnet-4-5',
      completion: 'Hello',
      toolCalls: null,
      finishReason: 'end_turn',
      usage: { inputTokens: 12, outputTokens: 5, totalTokens: 17 },
      costUsd: 0.000111,
      latencyMs: 640,
    },
    metadata: {},
    timestamp: pythonNow(),
  },
];
