/**
 * The own property of an object under a key from outside, without inherited properties: an ordinary look-up would
 * also find `constructor` and `toString`.
 */
export function own<T>(object: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}
