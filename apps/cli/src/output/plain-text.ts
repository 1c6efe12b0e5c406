/**
 * Text of others as it may go to a terminal: control characters, which could move the cursor, retitle the window or
 * hide text, are shown as `\u001b`. So are the marks that reverse the reading direction.
 */
export function plainText(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, (character) => {
    const shown = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }[character];
    return shown ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}
