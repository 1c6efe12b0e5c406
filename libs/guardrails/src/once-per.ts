/** What follows from an object alone, worked out once for each: rules hand out the same series and lists with every message. */
export function oncePer<Key extends object, Value extends {}>(make: (key: Key) => Value): (key: Key) => Value {
  const made = new WeakMap<Key, Value>();
  return (key) => {
    const known = made.get(key);
    if (known !== undefined) return known;
    const value = make(key);
    made.set(key, value);
    return value;
  };
}
