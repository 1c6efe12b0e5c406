export {
  type AskLine,
  askUser,
  type ColorScheme,
  type ConsoleOptions,
  ConsoleRenderer,
  colorScheme,
  type Paint,
} from './console-renderer.ts';
