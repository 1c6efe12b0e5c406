// A weather agent on the AI SDK 7 with its OpenTelemetry integration, as its documentation says.
import { createOpenAI } from '@ai-sdk/openai';
import { OpenTelemetry } from '@ai-sdk/otel';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { generateText, isStepCount, registerTelemetry, streamText, tool } from 'ai';
import { CITY, PROMPTS, weatherOf } from './weather.mjs';

const sdk = new NodeSDK();
sdk.start();
registerTelemetry(new OpenTelemetry());

const model = createOpenAI({ baseURL: process.env.OPENAI_BASE_URL, apiKey: 'none' }).chat('gpt-4o-mini');
const telemetry = { functionId: 'weather' };
const tools = {
  get_weather: tool({
    description: 'The weather of a city.',
    inputSchema: CITY,
    execute: async (input) => weatherOf(input),
  }),
};

const [question, greeting, refused] = PROMPTS;
await generateText({ model, tools, telemetry, prompt: question, stopWhen: isStepCount(5), maxRetries: 0 });
const stream = streamText({ model, telemetry, prompt: greeting, maxRetries: 0 });
for await (const _ of stream.textStream);
await generateText({ model, telemetry, prompt: refused, maxRetries: 0 }).catch((error) =>
  console.log(`failed: ${error.message}`),
);
await sdk.shutdown();
