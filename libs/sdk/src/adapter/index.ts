export { childEnvironment, withoutOwnVariables } from './child-environment.ts';
export { Guard, type ParentCall, parentHere, replaceExports } from './guard.ts';
export type { AdapterToolCall, GuardOptions } from './guard-options.ts';
export { generateGuarded, type LanguageModel, type LanguageModelParams, streamGuarded } from './language-model.ts';
export type { ModelCall } from './model-call.ts';
export type { RunScope } from './run-scope.ts';
export { readAnswerUsage } from '../wire/model-response.ts';
export { isAbort, refusalText, stoppedBy } from './stopped-by.ts';
export type { CallWait, OpenToolCall, ToolOutcome } from './tool-call-guard.ts';
