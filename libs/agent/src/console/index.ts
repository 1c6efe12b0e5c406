export { type AskLine, askUser } from './ask-user.ts';
export { type ColorScheme, colorScheme, type Paint } from './color-scheme.ts';
export { type ConsoleOptions, ConsoleRenderer } from './console-renderer.ts';
