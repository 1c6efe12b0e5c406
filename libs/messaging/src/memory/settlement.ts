/** Complete when `settle` was called by every group; nothing to wait for where there is none. */
export function settlementOf(groups: number): { readonly complete?: Promise<void>; readonly settle: () => void } {
  if (groups === 0) return { settle: () => undefined };
  let open = groups;
  let finish: () => void = () => undefined;
  const complete = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const settle = () => {
    open -= 1;
    if (open === 0) finish();
  };
  return { complete, settle };
}
