export { DatabasePromptStore, type DatabasePromptStoreOptions, type PromptAudit } from './database-prompt-store.ts';
export { fstringEngine } from './engines/fstring.ts';
export type {
  EngineName,
  PromptCheck,
  PromptDifference,
  PromptStore,
  PromptTemplate,
  RenderedPrompt,
  RenderOptions,
} from './prompt-store.ts';
export type { TemplateEngine } from './template-engine.ts';
