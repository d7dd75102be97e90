/**
 * What an object holds itself under a key that comes from elsewhere, and nothing of what every object inherits:
 * `constructor` and `toString` are answers of any other look-up.
 */
export function own<T>(object: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}
