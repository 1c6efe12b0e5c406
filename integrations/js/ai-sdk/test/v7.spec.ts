import { guard } from '@agentlens/ai-sdk/v7';
import * as ai from 'ai-v7';
import { MockLanguageModelV4 } from 'ai-v7/test';
import { conformAi } from './ai-sdk.ts';

conformAi({
  major: 7,
  version: '7.0.173',
  ai,
  guard,
  Mock: MockLanguageModelV4,
  model: 'v4',
  agentClass: 'ToolLoopAgent',
  marks: ['isStepCount'],
});
