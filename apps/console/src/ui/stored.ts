/** What a browser remembers of how its user likes the console. Never a key, never data. */
const NAMES = ['theme', 'density', 'zone'] as const;
type StoredName = (typeof NAMES)[number];

export function stored(name: StoredName): string {
  try {
    return localStorage.getItem(`agentlens.${name}`) ?? '';
  } catch {
    // Storage may be switched off; then nothing is remembered.
    return '';
  }
}

export function store(name: StoredName, value: string): void {
  try {
    if (value === '') localStorage.removeItem(`agentlens.${name}`);
    else localStorage.setItem(`agentlens.${name}`, value);
  } catch {
    // As above.
  }
}

/** Puts theme and density on the page. */
export function applyLook(): void {
  document.documentElement.style.colorScheme = stored('theme');
  document.documentElement.dataset.density = stored('density');
}
