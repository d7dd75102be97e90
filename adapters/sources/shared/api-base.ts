/** An address of a scope as what paths are appended to. */
export function apiBase(url: string): string {
  let end = url.length;
  while (url[end - 1] === '/') {
    end -= 1;
  }
  return url.slice(0, end);
}
