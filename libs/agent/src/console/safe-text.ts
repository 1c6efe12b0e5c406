// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what a terminal must not get
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

/** Text of models and tools as it is shown: without the characters that move the cursor, hide or reorder text. */
export function safeText(text: string): string {
  return text.replace(/\r\n/g, '\n').replace(CONTROL, '');
}
