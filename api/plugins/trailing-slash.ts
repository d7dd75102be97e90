const trailing = /^(\/api(?:-proxy)?\/v1\/[^?]*[^/?])\/+(?=\?|$)/;

/** An address of the API means the same with a slash at its end, which some clients put there. */
export function withoutTrailingSlash({ url = '/' }: { url?: string | undefined }): string {
  return url.replace(trailing, '$1');
}
