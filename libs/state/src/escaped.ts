const SPECIAL = /[%{}:]/;

/** Client-chosen text as one part of a name: it cannot end its part or a Redis hash tag, so no two names meet. */
export function escaped(text: string): string {
  if (!SPECIAL.test(text)) return text;
  return text.replace(/[%{}:]/g, (character) => `%${character.charCodeAt(0).toString(16)}`);
}
