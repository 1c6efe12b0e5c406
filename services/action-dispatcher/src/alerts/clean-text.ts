/**
 * Makes text safe to store and to show: removes control characters except line breaks and tabs, and lone surrogates.
 */
export function cleanText(text: string, maxLength: number): string {
  return text
    .replaceAll(/[^\P{Cc}\n\t]+/gu, ' ')
    .slice(0, maxLength)
    .toWellFormed()
    .trim();
}
