/** True if the platform searches for a text: three characters, or two of a script other than Latin. */
export function isSearchable(text: string): boolean {
  const chars = Array.from(text).length;
  return chars >= 3 || (chars >= 2 && /[^\p{ASCII}]/u.test(text));
}
