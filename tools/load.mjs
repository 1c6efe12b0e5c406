/** Imports a package that only this folder has. */
export function load(name) {
  return import(name);
}
