/** Text that any table, message and screen takes: no control characters but line breaks and tabs, no half characters. */
export function cleanText(text: string, maxLength: number): string {
  return text
    .replaceAll(/[^\P{Cc}\n\t]+/gu, ' ')
    .slice(0, maxLength)
    .toWellFormed()
    .trim();
}
