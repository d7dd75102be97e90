/** The names on the way to a resource, decoded. */
export type DavPath = readonly string[];

/** The part of an address behind the host, for these names. */
export function encodePath(names: DavPath): string {
  return names.map((name) => `/${encodeURIComponent(name)}`).join('');
}

/** Servers give an absolute address, at times with the name of an inner host, or its path; at times not encoded. */
export function decodeHref(href: string): DavPath {
  const path = href.replace(/^[a-z][a-z\d+.-]*:\/\/[^/]*/i, '');
  return path.split('/').filter(Boolean).map(decodeName);
}

/** The name of a resource in the folder; null: it is the folder, is elsewhere, or has a name that none can have. */
export function childName(folder: DavPath, resource: DavPath): string | null {
  const name = resource.at(-1);
  return name !== undefined &&
    resource.length === folder.length + 1 &&
    folder.every((each, index) => each === resource[index]) &&
    name !== '.' &&
    name !== '..' &&
    !/[/\0]/.test(name)
    ? name
    : null;
}

export function isSame(one: DavPath, other: DavPath): boolean {
  return one.length === other.length && one.every((name, index) => name === other[index]);
}

/** A percent sign that begins no code stands for itself. */
function decodeName(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
