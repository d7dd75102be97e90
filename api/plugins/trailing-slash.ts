const trailing = /^(\/api(?:-proxy)?\/v1\/[^?]*[^/?])\/+(?=\?|$)/;

/** Accepts a trailing slash on every path of the API, which some clients add. */
export function withoutTrailingSlash({ url = '/' }: { url?: string | undefined }): string {
  return url.replace(trailing, '$1');
}
