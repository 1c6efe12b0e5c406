export { Cassette } from '../replay/cassette.ts';
export { ScriptedModel, type ScriptedRequest, type ScriptedStep, type ScriptStep } from './scripted-model.ts';
