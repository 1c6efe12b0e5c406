export { type Places, resolveText } from './folders.ts';
export {
  type Argv,
  baseName,
  hasCode,
  isDatabase,
  isInterpreter,
  isShell,
  isWrapper,
  readVerbs,
  refusePrefix,
  startedBy,
} from './programs.ts';
export { type CommandInput, type ReadOptions, readShell, type ShellCommand, type ShellScript } from './reader.ts';
export { destroys, type NamedCommand, nameCommand, publishes, reachesNetwork } from './effects.ts';
export { findWrites } from './writes.ts';
export { findSecretWords } from './secret-words.ts';
