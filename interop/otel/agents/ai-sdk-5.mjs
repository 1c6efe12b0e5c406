// A weather agent on the AI SDK 5 with its experimental telemetry.

import { NodeSDK } from '@opentelemetry/sdk-node';
import { generateText, stepCountIs, streamText, tool } from 'ai-5';
import { createOpenAI } from 'ai-5-openai';
import { CITY, PROMPTS, weatherOf } from './weather.mjs';

const sdk = new NodeSDK();
sdk.start();

const model = createOpenAI({ baseURL: process.env.OPENAI_BASE_URL, apiKey: 'none' }).chat('gpt-4o-mini');
const experimental_telemetry = {
  isEnabled: true,
  functionId: 'weather',
  metadata: { sessionId: 'session-1', userId: 'user-1', tags: ['interop'] },
};
const options = { model, experimental_telemetry, maxRetries: 0 };
const tools = {
  get_weather: tool({
    description: 'The weather of a city.',
    inputSchema: CITY,
    execute: async (input) => weatherOf(input),
  }),
};

const [question, greeting, refused] = PROMPTS;
await generateText({ ...options, tools, prompt: question, stopWhen: stepCountIs(5) });
const stream = streamText({ ...options, prompt: greeting });
for await (const _ of stream.textStream);
await generateText({ ...options, prompt: refused }).catch((error) => console.log(`failed: ${error.message}`));
await sdk.shutdown();
