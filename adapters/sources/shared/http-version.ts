const maxLength = 500;
/** A time of change this close to the answer's own may stand for two contents. */
export const minAgeMs = 2_000;

/** What the server says of a content's version, in the form that `conditionOf` reads; null: nothing to rely on. */
export function versionOf({ headers }: Response): string | null {
  const tag = headers.get('etag');
  if (tag !== null && tag !== '' && tag.length <= maxLength) {
    return `etag ${tag}`;
  }
  const modified = headers.get('last-modified');
  const age = Date.parse(headers.get('date') ?? '') - Date.parse(modified ?? '');
  return modified !== null && modified.length <= maxLength && age >= minAgeMs ? `modified ${modified}` : null;
}

/** The headers of a request for another content than that of the version. */
export function conditionOf(version: string | null): Record<string, string> {
  if (version?.startsWith('etag ') === true) {
    return { 'if-none-match': version.slice(5) };
  }
  return version?.startsWith('modified ') === true ? { 'if-modified-since': version.slice(9) } : {};
}

/** As the server declares it, without its parameters. */
export function mediaTypeOf({ headers }: Response): string | null {
  const [type = ''] = (headers.get('content-type') ?? '').split(';', 1);
  const trimmed = type.trim().toLowerCase();
  return trimmed === '' || trimmed.length > 200 ? null : trimmed;
}
