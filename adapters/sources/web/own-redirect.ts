/**
 * Whether an address to which a page redirects for the time being is that page's own: the same path in another spelling,
 * as of hosts of static files, or the path behind a language or a version. Any other one may be a page for signing in,
 * and so may one whose query says where to come back to.
 */
export function isOwnRedirect(from: string, to: string): boolean {
  const [page, target] = [new URL(from), new URL(to)];
  const isSameQuery = page.search === '' || page.search === target.search;
  // The path of a start page is empty, and ends all others.
  return isSameQuery && pathOf(target).endsWith(pathOf(page)) && !names(target, page);
}

/** Without what may differ. */
function pathOf({ pathname }: URL): string {
  return pathname.toLowerCase().replace(/\/(?:index\.html)?$/, '');
}

/** Whether the query of an address holds that of a page. */
function names({ origin, searchParams }: URL, page: URL): boolean {
  return [...searchParams].flat().some((part) => {
    const isPath = part.startsWith('/') && URL.parse(part, origin)?.pathname === page.pathname;
    return isPath || part.includes(page.host);
  });
}
