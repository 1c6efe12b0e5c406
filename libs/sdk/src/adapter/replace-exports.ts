type Members = Readonly<Record<string, unknown>>;

/**
 * The framework's exports with guarded ones in their place. Of those given, only what the framework has is replaced, so
 * that a part of a module may be guarded as well.
 *
 * @throws TypeError if the framework has none of them
 */
export function replaceExports<M extends object>(framework: M, guarded: Members): M {
  const found = Object.entries(guarded).filter(([name]) => typeof (framework as Members)[name] === 'function');
  if (found.length === 0)
    throw new TypeError(`guard: found none of ${Object.keys(guarded).join(', ')} in the module it was given`);
  return { ...framework, ...Object.fromEntries(found) };
}
