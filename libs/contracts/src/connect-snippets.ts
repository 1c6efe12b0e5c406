/** How to connect an agent of a framework over OpenTelemetry. */
interface ConnectSnippet {
  readonly id: string;
  readonly framework: string;
  readonly language: 'javascript' | 'python';
  /** Command that installs what is needed besides the framework. */
  readonly install: string;
  /** Code to add to the program before its first call. */
  readonly code: string;
  /** Whether prompts, arguments and results are reported, and how to turn that on if not. */
  readonly content: string;
}

const PYTHON_EXPORTER = 'opentelemetry-sdk opentelemetry-exporter-otlp-proto-http';
const PYTHON_PROVIDER = `from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))`;
const ON = 'on';

/** In display order. The programs in `interop/otel/agents` do exactly this. */
export const CONNECT_SNIPPETS: readonly ConnectSnippet[] = [
  {
    id: 'ai-sdk-7',
    framework: 'Vercel AI SDK 7',
    language: 'javascript',
    install: 'npm install @ai-sdk/otel @opentelemetry/sdk-node',
    code: `import { OpenTelemetry } from '@ai-sdk/otel';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { registerTelemetry } from 'ai';

new NodeSDK().start();
registerTelemetry(new OpenTelemetry());`,
    content: ON,
  },
  {
    id: 'ai-sdk',
    framework: 'AI SDK 5, 6',
    language: 'javascript',
    install: 'npm install @opentelemetry/sdk-node',
    code: `import { NodeSDK } from '@opentelemetry/sdk-node';

new NodeSDK().start();
// Of each call:
await generateText({ model, prompt, experimental_telemetry: { isEnabled: true, functionId: 'weather' } });`,
    content: ON,
  },
  {
    id: 'openai-agents',
    framework: 'OpenAI Agents (Python)',
    language: 'python',
    install: `pip install openinference-instrumentation-openai-agents ${PYTHON_EXPORTER}`,
    code: `from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor
${PYTHON_PROVIDER}
OpenAIAgentsInstrumentor().instrument(tracer_provider=provider)`,
    content: ON,
  },
  {
    id: 'langchain',
    framework: 'LangChain, LangGraph',
    language: 'python',
    install: `pip install openinference-instrumentation-langchain ${PYTHON_EXPORTER}`,
    code: `from openinference.instrumentation.langchain import LangChainInstrumentor
${PYTHON_PROVIDER}
LangChainInstrumentor().instrument(tracer_provider=provider)`,
    content: ON,
  },
  {
    id: 'pydantic-ai',
    framework: 'Pydantic AI',
    language: 'python',
    install: 'pip install logfire',
    code: `import logfire

logfire.configure(send_to_logfire=False)
logfire.instrument_pydantic_ai()`,
    content: ON,
  },
  {
    id: 'strands',
    framework: 'Strands Agents',
    language: 'python',
    install: "pip install 'strands-agents[otel]'",
    code: `from strands.telemetry import StrandsTelemetry

StrandsTelemetry().setup_otlp_exporter()`,
    content: ON,
  },
  {
    id: 'openai',
    framework: "OpenAI's client",
    language: 'python',
    install: `pip install opentelemetry-instrumentation-openai-v2 ${PYTHON_EXPORTER}`,
    code: `from opentelemetry.instrumentation.openai_v2 import OpenAIInstrumentor
${PYTHON_PROVIDER}
OpenAIInstrumentor().instrument(tracer_provider=provider)`,
    content:
      'off; `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=span_and_event` with `OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental`',
  },
  {
    id: 'anthropic',
    framework: "Anthropic's client",
    language: 'python',
    install: `pip install opentelemetry-instrumentation-anthropic ${PYTHON_EXPORTER}`,
    code: `from opentelemetry.instrumentation.anthropic import AnthropicInstrumentor
${PYTHON_PROVIDER}
AnthropicInstrumentor().instrument(tracer_provider=provider)`,
    content: ON,
  },
];

/**
 * Returns shell commands that set the exporter's environment variables.
 * @param url of the gateway, without a path
 * @param key with the scope `ingest`
 * @param agentId id of the agent in AgentLens
 */
export function exporterVariables(url: string, key: string, agentId: string): string {
  return `export OTEL_EXPORTER_OTLP_ENDPOINT=${quoted(url)}
export OTEL_EXPORTER_OTLP_HEADERS=${quoted(`Authorization=Bearer%20${key}`)}
export OTEL_SERVICE_NAME=${quoted(agentId)}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
