/** Preferences that the browser stores. Never keys or data. */
const NAMES = ['theme', 'density', 'zone'] as const;
type StoredName = (typeof NAMES)[number];

export function stored(name: StoredName): string {
  try {
    return localStorage.getItem(`agentlens.${name}`) ?? '';
  } catch {
    // Storage may be disabled.
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

/** Applies theme and density to the page. */
export function applyLook(): void {
  document.documentElement.style.colorScheme = stored('theme');
  document.documentElement.dataset.density = stored('density');
}
