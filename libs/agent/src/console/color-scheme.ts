import picocolors from 'picocolors';

export type Paint = (text: string) => string;

export interface ColorScheme {
  readonly text: Paint;
  readonly thinking: Paint;
  readonly tool: Paint;
  readonly error: Paint;
  readonly question: Paint;
  readonly note: Paint;
}

/** Terminal colours, or none. */
export function colorScheme(enabled: boolean): ColorScheme {
  const { cyan, dim, green, italic, red, yellow } = picocolors.createColors(enabled);
  return {
    text: (text) => text,
    thinking: (text) => dim(italic(text)),
    tool: cyan,
    error: red,
    question: yellow,
    note: (text) => dim(green(text)),
  };
}
