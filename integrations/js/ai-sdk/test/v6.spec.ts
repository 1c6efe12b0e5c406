import { guard } from '@agentlens/ai-sdk/v6';
import * as ai from 'ai-v6';
import { MockLanguageModelV3 } from 'ai-v6/test';
import { conformAi } from './ai-sdk.ts';

conformAi({
  major: 6,
  version: '6.0.326',
  ai,
  guard,
  Mock: MockLanguageModelV3,
  model: 'v3',
  agentClass: 'ToolLoopAgent',
  marks: ['stepCountIs'],
});
