type Members = Readonly<Record<string, unknown>>;

/**
 * Returns the framework's exports with the guarded ones replaced. Only exports that exist are replaced, so a part of a
 * module can be guarded too.
 *
 * @throws TypeError if the framework has none of them
 */
export function replaceExports<M extends object>(framework: M, guarded: Members): M {
  const found = Object.entries(guarded).filter(([name]) => typeof (framework as Members)[name] === 'function');
  if (found.length === 0)
    throw new TypeError(`guard: found none of ${Object.keys(guarded).join(', ')} in the module it was given`);
  return { ...framework, ...Object.fromEntries(found) };
}
