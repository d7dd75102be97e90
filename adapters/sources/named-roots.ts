/** `name=/path` entries of the operator. @throws for an entry of another form */
export function namedRoots(entries: readonly string[]): ReadonlyMap<string, string> {
  return new Map(
    entries.map((entry) => {
      const [name = '', ...path] = entry.split('=');
      const folder = path.join('=');
      if (!/^[a-z0-9_-]{1,64}$/.test(name) || !folder.startsWith('/')) {
        throw new Error(
          'CONNECTOR_ROOTS has entries of the form name=/path, with a name of a-z, 0-9, _ and -.',
        );
      }
      return [name, folder];
    }),
  );
}
