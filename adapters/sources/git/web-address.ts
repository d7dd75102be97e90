import type { GitScope } from './scope.ts';

/** Hosts whose pages of files have a known address. */
const pages = new Map([
  ['github.com', 'blob'],
  ['gitlab.com', '-/blob'],
  ['bitbucket.org', 'src'],
]);

/** Where people read a file; null: the host has no known pages. */
export function webAddress({ url, branch }: GitScope, path: string): string | null {
  const { hostname, origin, pathname } = new URL(url);
  const page = pages.get(hostname);
  const repository = pathname.replace(/\/$/, '').replace(/\.git$/, '');
  const encode = (text: string) => text.split('/').map(encodeURIComponent).join('/');
  return page === undefined
    ? null
    : `${origin}${repository}/${page}/${encode(branch ?? 'HEAD')}/${encode(path)}`;
}
