import { useNavigate, useSearch } from '@tanstack/react-router';

/** The search of any page, as its route validated it. */
function useAnySearch(): Readonly<Record<string, string | undefined>> {
  return useSearch({ strict: false });
}

/** Filter of the page in its URL. Typing replaces the history entry, selecting adds one. */
export function useListSearch<N extends string>() {
  const search = useAnySearch() as { readonly [K in N]?: string };
  const navigate = useNavigate();
  const change = (next: { readonly [K in N]?: string | undefined }, replace = false) =>
    void navigate({
      to: '.',
      search: (before: Record<string, unknown>) => ({ ...before, ...next }),
      replace,
    } as Parameters<typeof navigate>[0]);
  const clear = () => void navigate({ to: '.', search: {} } as Parameters<typeof navigate>[0]);
  return { search, change, clear };
}
