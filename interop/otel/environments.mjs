// The agents, and what each runs in. A Python environment has the packages of `python/<name>.txt`.
import { join } from 'node:path';

export const HERE = import.meta.dirname;
export const VENVS = process.env.OTEL_INTEROP_VENVS ?? join(HERE, '.venvs');

const CONTENT = {
  OTEL_SEMCONV_STABILITY_OPT_IN: 'gen_ai_latest_experimental',
  OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'span_and_event',
};

/** @type {Record<string, {program: string, python?: string, env?: Record<string, string>, of: string}>} */
export const AGENTS = {
  'ai-sdk-7': { program: 'ai-sdk-7.mjs', of: 'ai 7, @ai-sdk/otel' },
  'ai-sdk-6': { program: 'ai-sdk-6.mjs', of: 'ai 6' },
  'ai-sdk-5': { program: 'ai-sdk-5.mjs', of: 'ai 5' },
  'pydantic-ai': { program: 'pydantic_ai_agent.py', python: 'agents', of: 'pydantic-ai with logfire' },
  'openai-agents-openinference': { program: 'openai_agents_agent.py', python: 'agents', of: 'openinference' },
  'langgraph-openinference': { program: 'langgraph_agent.py', python: 'agents', of: 'openinference' },
  'openai-v2-latest': { program: 'openai_v2.py', python: 'openai-v2-2.4', env: CONTENT, of: 'opentelemetry openai-v2' },
  'openai-v2-2.1': { program: 'openai_v2.py', python: 'openai-v2-2.1', of: 'opentelemetry openai-v2 2.1' },
  'openllmetry-0.40': { program: 'openllmetry_openai.py', python: 'openllmetry-0.40', of: 'openllmetry openai 0.40' },
  'anthropic-twice': { program: 'anthropic_twice.py', python: 'anthropic', of: 'openllmetry anthropic, anthropic SDK' },
  strands: { program: 'strands_agent.py', python: 'strands', of: 'strands-agents' },
};

export const PYTHONS = [...new Set(Object.values(AGENTS).flatMap(({ python }) => python ?? []))];

export function pythonOf(environment) {
  const bin = process.platform === 'win32' ? ['Scripts', 'python.exe'] : ['bin', 'python'];
  return join(VENVS, environment, ...bin);
}
