/** Luhn's check of card numbers, over the digits of a text. */
export function luhn(text: string): boolean {
  let sum = 0;
  let count = 0;
  for (let index = text.length - 1; index >= 0; index--) {
    const digit = text.charCodeAt(index) - 48;
    if (digit < 0 || digit > 9) continue;
    const doubled = count % 2 === 1 ? digit * 2 : digit;
    sum += doubled > 9 ? doubled - 9 : doubled;
    count++;
  }
  return count >= 13 && count <= 19 && sum % 10 === 0;
}

/** ISO 13616: the remainder by 97 of the number, its head moved to the end and letters written as 10 to 35, is 1. */
export function iban(text: string): boolean {
  const compact = text.replaceAll(' ', '').toUpperCase();
  if (compact.length < 15 || compact.length > 34) return false;
  let remainder = 0;
  for (const char of compact.slice(4) + compact.slice(0, 4)) {
    const value = Number.parseInt(char, 36);
    remainder = (remainder * (value > 9 ? 100 : 10) + value) % 97;
  }
  return remainder === 1;
}
