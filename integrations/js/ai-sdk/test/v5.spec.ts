import { guard } from '@agentlens/ai-sdk/v5';
import * as ai from 'ai-v5';
import { MockLanguageModelV2 } from 'ai-v5/test';
import { conformAi } from './ai-sdk.ts';

conformAi({
  major: 5,
  version: '5.0.277',
  ai,
  guard,
  Mock: MockLanguageModelV2,
  model: 'v2',
  agentClass: 'Experimental_Agent',
  marks: ['stepCountIs'],
});
