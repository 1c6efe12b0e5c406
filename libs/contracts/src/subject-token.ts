const UNSAFE = /[^A-Za-z0-9_-]/g;
const encoder = new TextEncoder();

/**
 * Encodes any client-chosen text as one NATS subject token: everything outside `[A-Za-z0-9_-]` becomes `=XX` per UTF-8
 * byte, so `crew/role.1` cannot add tokens or wildcards to a subject.
 */
export function subjectToken(text: string): string {
  return text.toWellFormed().replace(UNSAFE, (unit) => encodeUnit(unit)) || '=00';
}

function encodeUnit(unit: string): string {
  // A surrogate pair arrives as two units. Encoding each code unit is unambiguous and needs no look-ahead.
  const code = unit.charCodeAt(0);
  if (code >= 0xd800 && code <= 0xdfff) return `=u${code.toString(16).toUpperCase()}`;
  return [...encoder.encode(unit)].map((byte) => `=${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('');
}
