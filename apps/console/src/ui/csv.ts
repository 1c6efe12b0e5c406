/** One line of CSV (RFC 4180). A text that a spreadsheet would run as a formula gets a leading apostrophe. */
export function csvLine(values: readonly unknown[]): string {
  const cells = values.map((value) => {
    if (value === undefined || value === null) return '';
    if (typeof value === 'number') return String(value);
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  });
  return `${cells.join(',')}\r\n`;
}
