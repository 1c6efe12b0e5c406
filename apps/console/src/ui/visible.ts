/** Characters that turn text around, hide in it or make no mark: whoever reads it has to see that they are there. */
const UNSEEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what has to be seen
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

/** The text with what cannot be seen written as its escape: `\u202e`. */
export function visible(text: string): string {
  return text.replace(UNSEEN, (character) => {
    const code = (character.codePointAt(0) ?? 0).toString(16);
    return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, '0')}`;
  });
}
